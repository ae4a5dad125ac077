import type { Artifact } from '../runtime.ts';
import type { ComposeApp } from './compose/compose-app.ts';

/** An image, and what it is started with. */
export interface ImageArtifact {
  kind: 'image';
  buildId: string;
  /** By which it is told from whatever else bears the name. */
  imageId: string;
  image: string;
  /** Null: what the image itself says. */
  run: { dir: string; command: string; user: string } | null;
  port: number;
}

export interface ComposeArtifact {
  kind: 'compose';
  buildId: string;
  app: ComposeApp;
  /** Of the services that are built, by service. */
  images: Readonly<Record<string, { image: string; imageId: string }>>;
}

export type DockerArtifact = ImageArtifact | ComposeArtifact;

/** Only this runtime writes them; one of another has no such kind. */
export function parseArtifact(artifact: Artifact): DockerArtifact | null {
  const { kind } = artifact;
  return kind === 'image' || kind === 'compose' ? (artifact as unknown as DockerArtifact) : null;
}
