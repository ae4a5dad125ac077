import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { writeDurably } from '../../database/durable-file.ts';
import { checkedId } from '../process/layout.ts';
import type { Artifact } from '../runtime.ts';

export interface BuiltNote {
  appId: string;
  artifact: Artifact;
}

/**
 * What was built by this data dir's servers, so that images which no deployment has any more are found. A note is there
 * before the image is, and is then equal to no deployment's artefact: what was cut off in between is found, too.
 */
export interface BuiltNotes {
  write(buildId: string, note: BuiltNote): void;
  list(): BuiltNote[];
  remove(buildId: string): void;
}

export function createBuiltNotes(folder: string): BuiltNotes {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const pathOf = (buildId: string) => join(folder, `${checkedId(buildId)}.json`);
  return {
    write: (buildId, note) => writeDurably(pathOf(buildId), `${JSON.stringify(note)}\n`),
    list: () =>
      readdirSync(folder)
        .filter((name) => /^[\w-]+\.json$/.test(name))
        .flatMap((name) => {
          try {
            return [JSON.parse(readFileSync(join(folder, name), 'utf8')) as BuiltNote];
          } catch {
            // Removed meanwhile.
            return [];
          }
        }),
    remove: (buildId) => rmSync(pathOf(buildId), { force: true }),
  };
}
