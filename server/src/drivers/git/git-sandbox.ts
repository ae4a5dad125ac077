import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { bwrapBase, mountReadOnly, systemFolders } from '../os/bwrap.ts';

const networkFiles = ['/etc/resolv.conf', '/etc/hosts', '/etc/nsswitch.conf', '/etc/ca-certificates'];
const bwrap = [...bwrapBase, '--tmpfs', '/tmp', ...mountReadOnly(systemFolders)];

/**
 * Goes before a git command: pushed packs and foreign repositories are parsed without rights, and where only the named
 * folders exist. Empty where the machine cannot isolate programs.
 */
export function enterGitSandbox(
  folders: readonly string[],
  { usesNetwork }: { usesNetwork: boolean },
): string[] {
  if (!isPossible()) return [];
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

let possible: boolean | undefined;

/** Tried once, because only that shows whether the kernel allows it. */
function isPossible(): boolean {
  possible ??= spawnSync('bwrap', [...bwrap.slice(1), '--unshare-net', '--', 'true']).status === 0;
  return possible;
}
