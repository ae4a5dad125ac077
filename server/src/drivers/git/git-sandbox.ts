import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { bwrapBase, bwrapEnd, mountReadOnly, systemFolders } from '../runtime/process/sandbox.ts';

const networkFiles = ['/etc/resolv.conf', '/etc/hosts', '/etc/nsswitch.conf', '/etc/ca-certificates'];
const temporaryBytesMax = 256 * 1024 * 1024;
const bwrap = [
  ...bwrapBase,
  '--size',
  String(temporaryBytesMax),
  '--tmpfs',
  '/tmp',
  ...mountReadOnly(systemFolders),
];

/** Foreign packs are parsed without rights. Empty where the machine cannot isolate programs, which the log says. */
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
    ...bwrapEnd,
  ];
}

let tried: { problem: string | null } | undefined;

/** Why git runs without a sandbox. Tried once, because only that shows whether the kernel allows it. */
export function findGitSandboxProblem(): string | null {
  tried ??= { problem: trySandbox() };
  return tried.problem;
}

function trySandbox(): string | null {
  const { status, error, stderr } = spawnSync(
    'bwrap',
    [...bwrap.slice(1), '--unshare-net', ...bwrapEnd, 'true'],
    {
      encoding: 'utf8',
    },
  );
  if (status === 0) return null;
  return error
    ? `bwrap cannot be run (${(error as NodeJS.ErrnoException).code}). Install bubblewrap.`
    : `This machine does not allow it: ${stderr.trim().slice(0, 300)}`;
}
