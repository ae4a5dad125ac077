import { randomUUID } from 'node:crypto';
import { readdirSync, rmSync, statSync } from 'node:fs';
import { type FileHandle, mkdir, open } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { identify, stillRuns } from '../database/process-identity.ts';

const leftoverMsMin = 24 * 60 * 60 * 1000;

/** Bodies on their way in, in a folder per process, so that those of a killed one are known as such. */
export async function createUploadFile(folder: string): Promise<{ path: string; handle: FileHandle }> {
  const ours = join(folder, ourName());
  await mkdir(ours, { recursive: true, mode: 0o700 });
  const path = join(ours, randomUUID());
  return { path, handle: await open(path, 'wx', 0o600) };
}

/**
 * Removes what killed processes left. Of those on other machines nothing is known but when they last wrote. What can
 * not be removed, since another user wrote it, is in nobody's way.
 */
export function removeLeftovers(folder: string): void {
  for (const name of namesIn(folder)) {
    const path = join(folder, name);
    if (isOfDeadProcess(name)) remove(path);
    else for (const file of namesIn(path)) if (isOld(join(path, file))) remove(join(path, file));
  }
}

function isOld(path: string): boolean {
  const facts = statSync(path, { throwIfNoEntry: false });
  return facts !== undefined && facts.mtimeMs < Date.now() - leftoverMsMin;
}

function remove(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch {}
}

function ourName(): string {
  const started = identify(process.pid)?.started ?? '';
  return [encodeURIComponent(hostname()), process.pid, started.replace(':', '_')].join('~');
}

function isOfDeadProcess(name: string): boolean {
  const [host, pid, started] = name.split('~');
  if (host !== encodeURIComponent(hostname()) || !pid || started === undefined) return false;
  return !stillRuns({ pid: Number(pid), started: started.replace('_', ':') });
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
