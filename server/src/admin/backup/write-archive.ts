import {
  closeSync,
  createWriteStream,
  fsyncSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { invalid } from '../../plumbing/problem.ts';

/** Packs the bytes into the file, which appears under its name only when all of it is on the disk. */
export async function writeArchive(
  target: { file: string; onInterrupt(undo: () => void): () => void },
  bytes: AsyncIterable<Uint8Array>,
): Promise<number> {
  const file = resolve(target.file);
  checkTarget(file);
  removeRemains(file);
  const partial = `${file}.partial-${process.pid}`;
  const remove = () => rmSync(partial, { force: true });
  const forget = target.onInterrupt(remove);
  try {
    await pipeline(bytes, createGzip({ level: 4 }), createWriteStream(partial, { flags: 'wx', mode: 0o600 }));
    const { size } = statSync(partial);
    sync(partial);
    renameSync(partial, file);
    sync(dirname(file));
    return size;
  } catch (error) {
    remove();
    throw error;
  } finally {
    forget();
  }
}

function checkTarget(file: string): void {
  const folder = statSync(dirname(file), { throwIfNoEntry: false });
  if (!folder?.isDirectory()) throw invalid('to', `there is no folder ${dirname(file)}`);
  if (statSync(file, { throwIfNoEntry: false })?.isDirectory()) throw invalid('to', `${file} is a folder`);
}

/** A backup that was killed could not remove what it had written. */
function removeRemains(file: string): void {
  for (const name of readdirSync(dirname(file))) {
    const [, start, pid] = /^(.+)\.partial-(\d+)$/.exec(name) ?? [];
    if (start === basename(file) && !runs(Number(pid))) rmSync(join(dirname(file), name), { force: true });
  }
}

function runs(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function sync(path: string): void {
  // Windows can't open folders, and keeps renames by itself.
  if (process.platform === 'win32' && statSync(path).isDirectory()) return;
  const handle = openSync(path, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
