import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { bwrapBase, mountReadOnly, systemFolders } from '../os/bwrap.ts';

const networkFiles = ['/etc/resolv.conf', '/etc/hosts', '/etc/nsswitch.conf', '/etc/ca-certificates'];
const bwrap = [...bwrapBase, '--tmpfs', '/tmp', ...mountReadOnly(systemFolders)];

/**
 * Goes before a git command: pushed packs and foreign repositories are parsed without rights, and where only the named
 * folders exist. Empty where the machine cannot isolate programs, which the log and `svc-admin doctor` say.
 */
export function enterGitSandbox(
  folders: readonly string[],
  { usesNetwork }: { usesNetwork: boolean },
): string[] {
  if (findGitSandboxProblem() !== null) return [];
  const own = [...new Set(folders)].filter((path) =>
    statSync(path, { throwIfNoEntry: false })?.isDirectory(),
  );
  return [
    ...bwrap,
    ...(usesNetwork ? mountReadOnly(networkFiles) : ['--unshare-net']),
    ...own.flatMap((path) => ['--bind', path, path]),
    '--',
  ];
}

let tried: { problem: string | null } | undefined;

/** Why git runs without a sandbox. Tried once, because only that shows whether the kernel allows it. */
export function findGitSandboxProblem(): string | null {
  tried ??= { problem: tryOut() };
  return tried.problem;
}

function tryOut(): string | null {
  const { status, error, stderr } = spawnSync('bwrap', [...bwrap.slice(1), '--unshare-net', '--', 'true'], {
    encoding: 'utf8',
  });
  if (status === 0) return null;
  return error
    ? `bwrap cannot be run (${(error as NodeJS.ErrnoException).code}). Install bubblewrap.`
    : `This machine does not allow it: ${stderr.trim().slice(0, 300)}`;
}
