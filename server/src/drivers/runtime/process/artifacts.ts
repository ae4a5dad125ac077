import { readdirSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { writeDurably } from '../../database/durable-file.ts';
import type { Artifact } from '../runtime.ts';
import { checkedId, type Layout } from './layout.ts';
import { removeTree } from './trees.ts';

export interface ProcessArtifact {
  deploymentId: string;
  appId: string;
  dir: string;
  startCommand: string;
}

/** Beside each tree: whose it is, and who is at it. */
interface Note {
  appId: string;
  node: string;
  state: 'building' | 'built';
}

export function parseArtifact(artifact: Artifact): ProcessArtifact | null {
  const { deploymentId, appId, dir, startCommand } = artifact;
  if (typeof dir !== 'string' || typeof startCommand !== 'string') return null;
  return { deploymentId: checkedId(deploymentId), appId: checkedId(appId), dir, startCommand };
}

export async function noteArtifact(layout: Layout, deploymentId: string, note: Note): Promise<void> {
  writeDurably(notePath(layout, deploymentId), `${JSON.stringify(note)}\n`);
}

export async function removeArtifact(layout: Layout, deploymentId: string): Promise<void> {
  await removeTree(join(layout.artifacts, checkedId(deploymentId)));
  await rm(notePath(layout, deploymentId), { force: true });
}

/** With the last of an app's artefacts also goes what its builds kept for one another. */
export async function discardArtifact(
  layout: Layout,
  { deploymentId, appId }: ProcessArtifact,
): Promise<void> {
  await removeArtifact(layout, deploymentId);
  if (!notes(layout).some(({ note }) => note.appId === appId)) await removeTree(keptFolder(layout, appId));
}

/** Trees that copies were building when they died: the build begins again from its source. */
export async function clearHalfBuilt(layout: Layout, nodes: readonly string[]): Promise<void> {
  for (const { deploymentId, note } of notes(layout)) {
    if (note.state === 'building' && nodes.includes(note.node)) await removeArtifact(layout, deploymentId);
  }
}

/** The home of an app's builds: caches of package managers make the next one quick. */
export const keptFolder = (layout: Layout, appId: string) => join(layout.run, `app-${checkedId(appId)}`);

const notePath = (layout: Layout, deploymentId: string) =>
  join(layout.artifacts, `${checkedId(deploymentId)}.json`);

function notes(layout: Layout): { deploymentId: string; note: Note }[] {
  return readdirSync(layout.artifacts)
    .filter((name) => name.endsWith('.json'))
    .map((name) => ({
      deploymentId: name.slice(0, -'.json'.length),
      note: JSON.parse(readFileSync(join(layout.artifacts, name), 'utf8')) as Note,
    }));
}
