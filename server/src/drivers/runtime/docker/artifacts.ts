import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { writeDurably } from '../../os/durable-file.ts';
import { checkId } from '../process/layout.ts';
import type { Artifact } from '../runtime.ts';
import type { ComposeApp } from './compose/compose-app.ts';

export interface ImageArtifact {
  kind: 'image';
  buildId: string;
  imageId: string;
  image: string;
  run: { dir: string; command: string; user: string } | null;
  port: number;
}

export interface ComposeArtifact {
  kind: 'compose';
  buildId: string;
  app: ComposeApp;
  images: Readonly<Record<string, { image: string; imageId: string }>>;
}

type DockerArtifact = ImageArtifact | ComposeArtifact;

export function parseArtifact(artifact: Artifact): DockerArtifact | null {
  const { kind } = artifact;
  return kind === 'image' || kind === 'compose' ? (artifact as unknown as DockerArtifact) : null;
}

interface BuildNote {
  appId: string;
  artifact: Artifact;
}

/** Written before the image is built, so that images of interrupted builds are found too. */
export interface BuildNotes {
  write(buildId: string, note: BuildNote): void;
  list(): BuildNote[];
  remove(buildId: string): void;
}

export function createBuildNotes(folder: string): BuildNotes {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const pathOf = (buildId: string) => join(folder, `${checkId(buildId)}.json`);
  return {
    write: (buildId, note) => writeDurably(pathOf(buildId), `${JSON.stringify(note)}\n`),
    list: () =>
      readdirSync(folder)
        .filter((name) => /^[\w-]+\.json$/.test(name))
        .flatMap((name) => {
          try {
            return [JSON.parse(readFileSync(join(folder, name), 'utf8')) as BuildNote];
          } catch {
            return [];
          }
        }),
    remove: (buildId) => rmSync(pathOf(buildId), { force: true }),
  };
}
