import { processNamePattern } from '../manifest.ts';
import type { SourceFiles } from './source-files.ts';

/** The command of a process in a Procfile: `web: node server.js`. */
export async function procfileCommand(files: SourceFiles, name: string): Promise<string | null> {
  return (await readProcfile(files)).get(name) ?? null;
}

/** The processes beside `web` and `release`, by name. */
export async function procfileWorkers(files: SourceFiles): Promise<Record<string, string>> {
  const all = await readProcfile(files);
  return Object.fromEntries([...all].filter(([name]) => processNamePattern.test(name)));
}

async function readProcfile(files: SourceFiles): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  const text = (await files.read('Procfile')) ?? '';
  for (const line of text.split(/\r?\n/)) {
    const [, name, command] = /^([A-Za-z0-9_-]+):\s*(.+?)\s*$/.exec(line) ?? [];
    if (name !== undefined && command !== undefined && !found.has(name)) found.set(name, command);
  }
  return found;
}
