import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import type { Ids } from '../drivers/database/programs.ts';
import { gitFolderNames, gitSocketVariable, sharedMode } from '../drivers/git/git-launcher.ts';
import { socketPathBytesMax } from '../drivers/os/listen.ts';
import { findProgram } from './bundle.ts';
import { type Part, startPart } from './part.ts';
import { adviceForClosed, findClosedToServer, showBelowClosed } from './server-user.ts';

/** Between the users of apps (`drivers/runtime/process/app-users.ts`) and those of instances. */
const uidMin = 2_063_000_000;
const uidMax = 2_069_999_999;

interface GitUser extends Ids {
  /** Goes before the command that drops the rights of root. */
  enter: readonly string[];
}

/**
 * For a server of root, git has a user of its own (decision 138), whose number is the owner of the repositories: servers that share
 * the folder share the user. Null: git has the user of the server.
 */
export function chooseGitUser(dataDir: string, log: Logger): GitUser | null {
  if (process.getuid?.() !== 0 || process.platform !== 'linux') return null;
  const owner = statSync(join(dataDir, gitFolderNames.repositories), { throwIfNoEntry: false })?.uid ?? 0;
  const uid = isGitUid(owner) ? owner : uidMin + Math.floor(Math.random() * (uidMax - uidMin));
  const user = { uid, gid: uid };
  const closed = findClosedToServer(dataDir, user);
  const enter = closed === null ? [] : showBelowClosed(closed, { dataDir, user, env: {} });
  const reason =
    typeof enter === 'string' ? enter : (tryUser({ ...user, enter }) ?? changeGitFolderOwner(dataDir, user));
  if (reason === null) return { ...user, enter: enter as string[] };
  const advice = closed && adviceForClosed(closed);
  log.warn({ reason, advice }, 'git has the user of the server, because a user of its own is impossible');
  return null;
}

const isGitUid = (uid: number) => uid >= uidMin && uid <= uidMax;

/** `setpriv` may be missing, or the number unknown to a container. Returns why it is impossible. */
function tryUser(user: GitUser): string | null {
  const [program = '', ...args] = [...asGitUser(user), 'test', '-r', findProgram('git.ts')];
  const { status, error, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  return status === 0 ? null : (error?.message ?? stderr.trim().slice(0, 300));
}

const asGitUser = ({ uid, gid, enter }: GitUser) => [
  ...enter,
  'setpriv',
  `--reuid=${uid}`,
  `--regid=${gid}`,
  '--clear-groups',
  '--inh-caps=-all',
  '--no-new-privs',
  '--',
];

/** Also those of a server before it had this user, and those of a restored back-up. Returns why it is impossible. */
function changeGitFolderOwner(dataDir: string, { uid, gid }: Ids): string | null {
  try {
    for (const name of Object.values(gitFolderNames)) {
      const path = join(dataDir, name);
      mkdirSync(path, { recursive: true });
      const folder = ownFolder(path);
      if (isForeign(folder, { uid, gid })) {
        run('chown', ['-RhP', `${uid}:${gid}`, '--', folder]);
        run('chmod', ['-R', 'ug+rwX,o-rwx', '--', folder]);
        run('find', [folder, '-type', 'd', '-exec', 'chmod', 'g+s', '{}', '+']);
      }
      chmodSync(folder, sharedMode);
    }
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** An operator may link to another disk. A link of the server's user could lead to any folder of the machine. */
function ownFolder(path: string): string {
  const facts = lstatSync(path);
  if (facts.isSymbolicLink() && facts.uid !== 0) throw new Error(`${path} is a link that root did not make.`);
  return realpathSync(path);
}

/** Folders that the server makes have its user, and the group of git. */
function isForeign(folder: string, { uid, gid }: Ids): boolean {
  const all = readdirSync(folder).map((name) => lstatSync(join(folder, name)));
  return lstatSync(folder).uid !== uid || all.some((it) => it.gid !== gid);
}

/** A data dir whose git had its own user, and gets the one of the server. */
export function takeBackGitFolders(dataDir: string, { uid, gid }: Ids): void {
  for (const name of Object.values(gitFolderNames)) {
    const found = statSync(join(dataDir, name), { throwIfNoEntry: false });
    if (found && isGitUid(found.uid))
      run('chown', ['-RhP', `${uid}:${gid}`, '--', ownFolder(join(dataDir, name))]);
  }
}

function run(program: string, args: string[]): void {
  const { status, stderr, error } = spawnSync(program, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${program} failed: ${error?.message ?? stderr.trim().slice(0, 300)}`);
}

/** The process that starts git. It starts when a worker asks for its socket. */
export function createGitKeeper(
  { dataDir, runtime }: Pick<Config, 'dataDir' | 'runtime'>,
  user: GitUser | null,
  log: Logger,
) {
  let part: Part | null = null;
  let isStopping = false;
  const path = user && helperSocketPath(dataDir, user);

  function open(): Part {
    if (!user || !path) throw new Error('git has the user of the server.');
    rmSync(path, { force: true });
    const opened = startPart({
      program: 'git.ts',
      through: asGitUser(user),
      env: { PATH: runtime.baseEnvironment.path, [gitSocketVariable]: path },
    });
    part = opened;
    void opened.exited.then(({ code }) => {
      part = null;
      if (!isStopping) log.error({ code }, 'the process that starts git ended unexpectedly');
    });
    return opened;
  }

  return {
    async socket(): Promise<string> {
      const ready = await (part ?? open()).ready;
      if (!ready || !path) throw new Error('The process that starts git did not start.');
      return path;
    },
    async stop(graceMs: number): Promise<void> {
      isStopping = true;
      await part?.stop(graceMs);
    },
    kill(): void {
      isStopping = true;
      part?.kill();
    },
  };
}

function helperSocketPath(dataDir: string, { uid, gid }: Ids): string {
  const inside = join(dataDir, gitFolderNames.work, 'helper.sock');
  if (Buffer.byteLength(inside) <= socketPathBytesMax) return inside;
  const folder = mkdtempSync(join(tmpdir(), 'svc-git-'));
  chownSync(folder, uid, gid);
  chmodSync(folder, sharedMode);
  return join(folder, 'helper.sock');
}
