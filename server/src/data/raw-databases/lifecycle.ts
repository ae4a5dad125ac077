import { randomBytes } from 'node:crypto';
import { rawDbConnectionsMax } from '@svc/contract/raw-db.ts';
import { z } from 'zod';
import type { AppRef, MutationCtx } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import type { EffectHandler } from '../../core/outbox-worker.ts';
import { loadOrCreatePlatformValue } from '../../core/platform-values.ts';
import type { RawDatabases } from '../../drivers/raw-database/raw-databases.ts';
import { rawUrl, readerName } from '../../drivers/raw-database/server.ts';
import { readerPassword, unsealPassword } from './passwords.ts';
import {
  deleteRawDbRow,
  findRawDbRow,
  findRawDbRowByName,
  hasRawDbs,
  listRawDbLogins,
  lockRawDbRow,
  markRawDbReady,
  type RawDbRow,
  updateRawDbRow,
  updateServerAddress,
} from './store.ts';

const Payload = z.object({ tenant_id: z.string(), database: z.string() });

/** Effects may run late, twice and in any order: the row as it is now decides. No row: drop. */
export function reconcileRawDb({ db, raw }: { db: Db; raw: RawDatabases }): EffectHandler {
  return async (payload) => {
    const { tenant_id: tenantId, database } = Payload.parse(payload);
    await raw.withLock(database, async (locked) => {
      const row = await findRawDbRowByName(db, tenantId, database);
      if (!row || row.state === 'dropping') {
        await locked.drop();
        return deleteRawDbRow(db, tenantId, database);
      }
      if (row.is_closed) return locked.close();
      const password = await unsealPassword(db, row);
      await locked.ensure({
        password,
        connectionsMax: row.connections_max,
        ifMissing: row.is_made ? 'fail' : 'create',
        disconnectClients: row.state === 'creating',
      });
      if (row.review_of === null) await locked.closeReader();
      else
        await locked.openReader({
          ownerPassword: password,
          ownerConnectionsMax: row.connections_max,
          password: readerPassword(password, row.review_of),
        });
      await markRawDbReady(db, row);
    });
  };
}

/** Without databases nobody needs the server's address, for which the gate would have to start. */
export async function publishRawDatabases({ db, raw }: { db: Db; raw: RawDatabases }): Promise<void> {
  if (await hasRawDbs(db)) await updateServerAddress(db, await raw.address());
  raw.registerLogins(await listRawDbLogins(db));
}

/** Key of the id that marks our databases. A restore deletes it, so that a copy never claims those of the original. */
export const installationKey = 'raw_db.installation';

export async function installationId(db: Db): Promise<string> {
  const create = () => JSON.stringify(randomBytes(12).toString('hex'));
  return JSON.parse(await loadOrCreatePlatformValue(db, installationKey, create)) as string;
}

export function closeRawDatabase(ctx: MutationCtx, app: AppRef): Promise<void> {
  return changeRawDatabase(ctx, app, (row) => !row.is_closed && { is_closed: true });
}

export function reopenRawDatabase(ctx: MutationCtx, app: AppRef): Promise<void> {
  return changeRawDatabase(ctx, app, (row) => row.is_closed && { is_closed: false, state: 'creating' });
}

export function resizeRawDatabase(
  ctx: MutationCtx,
  { preset, ...app }: AppRef & { preset: keyof typeof rawDbConnectionsMax },
): Promise<void> {
  const connections_max = rawDbConnectionsMax[preset];
  return changeRawDatabase(ctx, app, (row) => row.connections_max !== connections_max && { connections_max });
}

/** Lets a deployment in review read the database. It works after `loadReaderEnv`. */
export async function startRawDatabaseReview(
  db: Db,
  { tenantId, appId }: AppRef,
  deploymentId: string,
): Promise<void> {
  await updateRawDbRow(db, tenantId, appId, { review_of: deploymentId });
}

/** Ends the review and closes the connections to the database. */
export function endRawDatabaseReview(ctx: MutationCtx, app: AppRef): Promise<void> {
  return changeRawDatabase(ctx, app, (row) => row.review_of !== null && { review_of: null });
}

/** For an instance in review: a login that only reads. */
export async function loadReaderEnv(
  { db, raw }: { db: Db; raw: RawDatabases },
  { tenantId, appId }: AppRef,
): Promise<Record<string, string>> {
  const row = await findRawDbRow(db, tenantId, appId);
  if (!row || row.state === 'dropping' || row.review_of === null) return {};
  const { database, address, review_of } = row;
  await reconcileRawDb({ db, raw })({ tenant_id: tenantId, database });
  const password = readerPassword(await unsealPassword(db, row), review_of);
  return { DATABASE_URL: rawUrl(address, { user: readerName(database), password, database }) };
}

async function changeRawDatabase(
  ctx: MutationCtx,
  { tenantId, appId }: AppRef,
  change: (row: RawDbRow) => Partial<RawDbRow> | false,
): Promise<void> {
  const row = await lockRawDbRow(ctx.db, tenantId, appId);
  const set = row && row.state !== 'dropping' && change(row);
  if (!set) return;
  await updateRawDbRow(ctx.db, tenantId, appId, set);
  ctx.enqueue('rawDb.settle', { tenant_id: tenantId, database: row.database });
}

export async function purgeRawDatabase(
  ctx: MutationCtx,
  { tenantId, appId }: AppRef,
): Promise<{ databases: 0 | 1 }> {
  const row = await lockRawDbRow(ctx.db, tenantId, appId);
  if (!row) return { databases: 0 };
  await deleteRawDbRow(ctx.db, tenantId, row.database);
  ctx.enqueue('rawDb.settle', { tenant_id: tenantId, database: row.database });
  return { databases: 1 };
}
