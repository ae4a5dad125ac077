import type { Artifact } from '../runtime.ts';
import { notes } from './artifacts.ts';
import type { Layout } from './layout.ts';

/** Half-built ones are those of who is at it. */
export function listArtifacts(layout: Layout): { appId: string; artifact: Artifact }[] {
  return notes(layout).flatMap(({ note: { appId, artifact } }) =>
    artifact ? [{ appId, artifact: { ...artifact } }] : [],
  );
}
