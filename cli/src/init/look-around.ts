import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { CliError } from '../errors.ts';
import { type FolderFacts, pageFolders, textFiles } from './folder-facts.ts';

const textBytesMax = 256 * 1024;

export async function lookAround(folder: string): Promise<FolderFacts> {
  const listed = await readdir(folder, { withFileTypes: true }).catch((cause) => {
    const why = cause instanceof Error && 'code' in cause ? ` (${cause.code})` : '';
    throw new CliError('file_unreadable', `${folder} can not be read${why}.`, { cause });
  });
  const entries = new Set(listed.map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name)));
  const texts: Record<string, string> = {};
  for (const name of textFiles.filter((file) => entries.has(file))) {
    const text = await readText(join(folder, name));
    if (text !== null) texts[name] = text;
  }
  const pages: string[] = [];
  for (const name of pageFolders.filter((it) => entries.has(`${it}/`))) {
    if (await Bun.file(join(folder, name, 'index.html')).exists()) pages.push(name);
  }
  return { folder: basename(folder), entries, texts, pages, origin: await originOf(folder) };
}

/** What can not be read is as if it were not there; what is no file could keep one waiting for ever. */
async function readText(path: string): Promise<string | null> {
  const file = Bun.file(path);
  const entry = await file.stat().catch(() => null);
  if (entry === null || !entry.isFile() || entry.size > textBytesMax) return null;
  return file.text().catch(() => null);
}

/** From the file that git keeps it in: running git would run what the repository configures. */
async function originOf(folder: string): Promise<string | null> {
  const text = (await readText(join(folder, '.git', 'config'))) ?? '';
  const section = /^\[remote "origin"\]\s*\n((?:(?!\[).*\n?)*)/m.exec(text)?.[1] ?? '';
  return /^\s*url\s*=\s*"?([^"\n]+?)"?\s*$/m.exec(section)?.[1] ?? null;
}
