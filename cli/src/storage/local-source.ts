import { readdir } from 'node:fs/promises';
import { join, sep } from 'node:path';
import type { Ctx } from '../context.ts';
import { usage } from '../errors.ts';
import { fileChunks, fileUnreadable } from '../file-chunks.ts';

/** What is to be uploaded. */
export interface LocalSource {
  /** As typed. */
  name: string;
  /** Null where it can not be known. */
  bytes: number | null;
  chunks(): AsyncIterable<Uint8Array>;
}

export async function localSource(ctx: Ctx, name: string): Promise<LocalSource> {
  if (name === '-') return { name, bytes: null, chunks: () => ctx.io.inputChunks() };
  const file = Bun.file(name);
  const entry = await file.stat().catch((cause) => {
    throw fileUnreadable(name, cause);
  });
  if (entry.isDirectory())
    throw usage(`${name} is a folder.`, 'svc apps storage cp --recursive copies folders.');
  return { name, bytes: entry.isFile() ? entry.size : null, chunks: () => fileChunks(file, name) };
}

export interface FolderFile {
  path: string;
  /** Below the folder, with slashes. */
  below: string;
  bytes: number;
}

/** Every file below a folder, in the order of their names. Links are left out, with a notice: they lead anywhere. */
export async function filesBelow(ctx: Pick<Ctx, 'note'>, folder: string): Promise<FolderFile[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch((cause) => {
    throw fileUnreadable(folder, cause);
  });
  const files: FolderFile[] = [];
  for (const entry of entries) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isSymbolicLink()) ctx.note(`${path} is a link and is left out.`);
    if (!entry.isFile()) continue;
    const stat = await Bun.file(path).stat();
    const below = path.slice(join(folder, sep).length).replaceAll(sep, '/');
    files.push({ path, below, bytes: stat.size });
  }
  return files.sort((one, other) => (one.below < other.below ? -1 : 1));
}
