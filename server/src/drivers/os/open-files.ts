import { existsSync, readFileSync } from 'node:fs';

const openFilesMin = 1_024;
const limitsFile = '/proc/self/limits';

/** Without files left, new connections wait in silence. Bun raises the soft limit to the hard one by itself. */
export function checkOpenFiles(): void {
  if (!existsSync(limitsFile)) return;
  const hard = /^Max open files\s+\S+\s+(\d+)/m.exec(readFileSync(limitsFile, 'utf8'))?.[1];
  if (hard === undefined || Number(hard) >= openFilesMin) return;
  throw new Error(
    `this process may open only ${hard} files, and needs at least ${openFilesMin}. Start it after "ulimit -n 65536", or set LimitNOFILE=65536 in the systemd unit.`,
  );
}
