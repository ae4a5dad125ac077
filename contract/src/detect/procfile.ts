import type { SourceFiles } from './source-files.ts';

/** The command of a process in a Procfile: `web: node server.js`. */
export async function procfileCommand(files: SourceFiles, name: string): Promise<string | null> {
  const text = (await files.read('Procfile')) ?? '';
  for (const line of text.split(/\r?\n/)) {
    const [, found, command] = /^([A-Za-z0-9_-]+):\s*(.+?)\s*$/.exec(line) ?? [];
    if (found === name && command !== undefined) return command;
  }
  return null;
}
