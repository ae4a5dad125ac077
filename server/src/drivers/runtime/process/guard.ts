import { spawn } from 'node:child_process';
import type { AppUser, AppUsers } from './app-users.ts';
import { markName } from './environment.ts';

/** Outlives the server only to end what the server ran: it holds one end of a pipe, and the other ends with the server. */
export interface Guard {
  /** Where apps have no user of their own, the group of processes that it ends beside all that bear the mark; null: none. */
  lead(leader: number | null): void;
  /** All has been ended: it ends without a further act. */
  dismiss(): void;
}

// Everything of a user at once, by that user: no process that starts others escapes. One that ends its equals as they
// come could escape, so root looks for what is left.
const watch = `trap '' HUP INT QUIT TERM
leader=; mark=$1; uid=$2; shift 2
while read -r word value; do
  case $word in
    leader) leader=$value ;;
    done) exit 0 ;;
  esac
done
if [ -z "$uid" ]; then
  [ -z "$leader" ] || kill -s KILL -- "-$leader"
  for folder in /proc/[0-9]*; do
    if tr '\\0' '\\n' <"$folder/environ" | grep -qx "$mark"; then kill -s KILL "\${folder#/proc/}"; fi
  done 2>/dev/null
  exit 0
fi
for round in 1 2 3; do
  "$@" /bin/sh -c 'kill -s KILL -- -1'
  for folder in /proc/[0-9]*; do
    while read -r key is rest; do
      [ "$key" = Uid: ] || continue
      [ "$is" != "$uid" ] || kill -s KILL "\${folder#/proc/}"
      break
    done <"$folder/status"
  done
done 2>/dev/null`;

/** There before anything of the user is started. */
export function setGuard(
  users: AppUsers,
  { mark, user }: { mark: string; user: AppUser | null },
): Promise<Guard> {
  if (process.platform === 'win32') return Promise.resolve({ lead() {}, dismiss() {} });
  const whom = user ? [String(user.uid), ...users.prefix(user)] : [''];
  const child = spawn('/bin/sh', ['-c', watch, 'svc-guard', `${markName}=${mark}`, ...whom], {
    cwd: '/',
    detached: true,
    env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' },
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  child.stdin?.on('error', () => {});
  child.unref();
  const guard: Guard = {
    lead: (leader) => child.stdin?.write(`leader ${leader ?? ''}\n`),
    dismiss: () => child.stdin?.end('done\n'),
  };
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('spawn', () => resolve(guard));
  });
}
