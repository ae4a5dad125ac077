import type { Sweep } from '../plumbing/run-sweeps.ts';
import { deleteOldDeviceCodes } from './device-store.ts';
import type { GitHostParts } from './git-host-parts.ts';
import { deleteOldDeliveries } from './hooks-store.ts';
import { knownFolders, listUnfinishedPushes } from './repos-store.ts';
import { tellPushes } from './tell-pushes.ts';
import { deleteExpiredTokens } from './tokens-store.ts';

const hourMs = 3600_000;
/** One under way is only looked at; none lives longer than the second. */
const pushMsMin = 60_000;
const pushMsMax = hourMs;
const deliveriesKeptMs = 7 * 24 * hourMs;

/** Null: it has not started yet. */
export function gitHostSweeps(parts: () => GitHostParts | null): Sweep[] {
  const run = (sweep: (parts: GitHostParts) => Promise<void>) => async () => {
    const found = parts();
    if (found) await sweep(found);
  };
  return [
    { name: 'gitHost.tellPushes', cron: '* * * * *', run: run(tellUnfinishedPushes) },
    { name: 'gitHost.sweep', cron: '42 * * * *', run: run(sweepGitHost) },
  ];
}

/** Tells what was pushed and, since the server ended on the way, not told. */
export async function tellUnfinishedPushes(parts: GitHostParts): Promise<void> {
  const now = parts.now().getTime();
  let trouble: unknown;
  const pusher = { id: 0, login: `${parts.app.slug}[bot]`, email: `${parts.app.slug}@localhost` };
  for (const { id, push_begun_at } of await listUnfinishedPushes(parts.db, new Date(now - pushMsMin))) {
    const isOver = push_begun_at.getTime() < now - pushMsMax;
    const begunAt = isOver ? push_begun_at : new Date(0);
    // One repository's trouble is not the others'.
    await tellPushes(parts, { repoId: id, pusher, begunAt }).catch((error: unknown) => {
      trouble = error;
    });
  }
  if (trouble !== undefined) throw trouble;
}

/** What is of no use any more, and folders of repositories that never came to be. */
export async function sweepGitHost(parts: GitHostParts): Promise<void> {
  const { db, folders } = parts;
  const now = parts.now();
  const ago = (ms: number) => new Date(now.getTime() - ms);
  await deleteExpiredTokens(db, now);
  await deleteOldDeviceCodes(db, ago(hourMs));
  await deleteOldDeliveries(db, ago(deliveriesKeptMs));
  // Listed before the rows are read: what is made meanwhile is in neither.
  const there = await folders.olderThan(ago(hourMs));
  const known = await knownFolders(db);
  for (const folder of there) if (!known.has(folder)) await folders.remove(folder);
}
