import type { AppPlace } from '../plumbing/app-place.ts';
import type { MutationCtx } from '../plumbing/context.ts';
import { listPublicationRows } from './store.ts';

/** For other slices: how many there were of an app, however they ended. */
export async function countPublications(
  { db, now }: Pick<MutationCtx, 'db' | 'now'>,
  { tenantId, appId }: AppPlace,
): Promise<number> {
  const window = { limit: 1, offset: 0 };
  return (await listPublicationRows(db, tenantId, { appId, now }, window)).total;
}
