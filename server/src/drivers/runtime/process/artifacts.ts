import { readdirSync, readFileSync } from 'node:fs';
import { lchown, lstat, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { writeDurably } from '../../database/durable-file.ts';
import type { Artifact } from '../runtime.ts';
import type { AppUser } from './app-users.ts';
import { checkedId, type Layout } from './layout.ts';
import { makeOwnFolder, removeTree } from './trees.ts';

export interface ProcessArtifact {
  buildId: string;
  appId: string;
  dir: string;
  startCommand: string;
}

/** Beside each tree: whose it is, and who is at it. */
interface Note {
  appId: string;
  node: string;
  state: 'building' | 'built';
  /** Once it is built. */
  artifact?: ProcessArtifact;
}

export function parseArtifact(artifact: Artifact): ProcessArtifact | null {
  const { buildId, appId, dir, startCommand } = artifact;
  if (typeof dir !== 'string' || typeof startCommand !== 'string') return null;
  return { buildId: checkedId(buildId), appId: checkedId(appId), dir, startCommand };
}

export async function noteArtifact(layout: Layout, buildId: string, note: Note): Promise<void> {
  writeDurably(notePath(layout, buildId), `${JSON.stringify(note)}\n`);
}

export async function removeArtifact(layout: Layout, buildId: string): Promise<void> {
  await removeTree(join(layout.artifacts, checkedId(buildId)));
  await rm(notePath(layout, buildId), { force: true });
}

/** With the last of an app's artefacts also goes what its builds kept for one another. */
export async function discardArtifact(layout: Layout, { buildId, appId }: ProcessArtifact): Promise<void> {
  await removeArtifact(layout, buildId);
  if (notes(layout).some(({ note }) => note.appId === appId)) return;
  const home = homeOfBuilds(layout, appId);
  // Closed first, to a build that nobody wants any more.
  if (process.getuid?.() === 0) await lchown(home, 0, 0).catch(() => {});
  await removeTree(home);
}

/** Trees that copies were building when they died: the build begins again from its source. */
export async function clearHalfBuilt(layout: Layout, nodes: readonly string[]): Promise<void> {
  for (const { buildId, note } of notes(layout)) {
    if (note.state === 'building' && nodes.includes(note.node)) await removeArtifact(layout, buildId);
  }
}

/** The home of an app's builds: caches of package managers make the next one quick. */
export async function openHome(layout: Layout, appId: string, user: AppUser | null): Promise<string> {
  const home = homeOfBuilds(layout, appId);
  const found = await lstat(home).catch(() => null);
  if (found && (user === null || found.uid === user.uid)) return home;
  // Of a user that builds had once, in a data dir that came from elsewhere.
  await removeTree(home);
  await makeOwnFolder(home, user);
  return home;
}

const homeOfBuilds = (layout: Layout, appId: string) => join(layout.homes, checkedId(appId));

const notePath = (layout: Layout, buildId: string) => join(layout.artifacts, `${checkedId(buildId)}.json`);

export function notes(layout: Layout): { buildId: string; note: Note }[] {
  return readdirSync(layout.artifacts)
    .filter((name) => name.endsWith('.json'))
    .map((name) => ({
      buildId: name.slice(0, -'.json'.length),
      note: JSON.parse(readFileSync(join(layout.artifacts, name), 'utf8')) as Note,
    }));
}
