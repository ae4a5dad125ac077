import type { RawDb } from '@svc/contract/raw-db.shapes.ts';
import { rawDbConnectionsMax } from '@svc/contract/raw-db.ts';
import type { z } from 'zod';
import { lockAppFor } from '../../apps/record/app-access.ts';
import type { AppCtx, AppMutationCtx } from '../../core/context.ts';
import { fail } from '../../core/problem.ts';
import { newPassword } from '../../drivers/database/roles.ts';
import type { RawDatabases } from '../../drivers/raw-database/raw-databases.ts';
import { describeServerProblem, hostAndPort, rawName, rawUrl } from '../../drivers/raw-database/server.ts';
import { auditRawDb, changePassword, sealPassword } from './passwords.ts';
import { findRawDbRow, insertRawDbRow, lockRawDbRow, type RawDbRow, updateRawDbRow } from './store.ts';

export async function getRawDb({ db, tenant, app }: AppCtx): Promise<RawDbRecord> {
  return rawDbRecord(await findRawDbRow(db, tenant.id, app.id));
}

/** Writes only the row: `create database` cannot run in a transaction, so the outbox effect creates role and database. */
export async function enableRawDb(
  ctx: AppMutationCtx,
  { raw }: { raw: RawDatabases },
): Promise<RawDbRecord & { connection_string?: string; changed?: false }> {
  const app = await lockAppFor(ctx, { required: 'owner' });
  const present = await lockRawDbRow(ctx.db, ctx.tenant.id, app.id);
  if (present?.state === 'dropping') {
    throw fail('invalid_state_transition', {
      detail: 'The previous database is still being dropped. Try again in a moment.',
    });
  }
  if (present) {
    auditRawDb(ctx, app, 'rawDb.enable', {}, {});
    return { ...rawDbRecord(present), changed: false };
  }
  if (app.record !== 'active') throw fail('app_not_active');
  await requireSafeServer(ctx, raw);

  const database = rawName(ctx.newId());
  const password = newPassword();
  const row: RawDbRow = {
    app_id: app.id,
    tenant_id: ctx.tenant.id,
    database,
    state: 'creating',
    is_closed: false,
    password_sealed: await sealPassword(ctx.db, { database, password }),
    connections_max: rawDbConnectionsMax[app.resource_preset],
    address: await raw.address(),
    enabled_by: ctx.caller.userId,
    enabled_at: ctx.now,
    is_made: false,
    password_at: ctx.now,
    known_to: [ctx.caller.userId],
    review_of: null,
  };
  await insertRawDbRow(ctx.db, row);
  const { connections_max, enabled_at } = row;
  auditRawDb(ctx, app, 'rawDb.enable', null, { enabled: true, connections_max, enabled_at });
  ctx.enqueue('rawDb.settle', { tenant_id: ctx.tenant.id, database });
  const connection_string = rawUrl(row.address, { user: database, password, database });
  return { ...rawDbRecord(row), connection_string };
}

async function requireSafeServer(ctx: AppMutationCtx, raw: RawDatabases): Promise<void> {
  const problem = await raw.findProblem().catch((error: unknown) => {
    ctx.log.warn({ err: error }, 'cannot connect to SVC_RAW_DATABASE_URL');
    throw fail('raw_db_unavailable', {
      detail: 'The database server is not reachable. The operator finds the cause in the server log.',
    });
  });
  if (!problem) return;
  // Only the log names the other databases on the server.
  ctx.log.warn(
    { problem, remedy: describeServerProblem(problem) },
    'the server is not suitable for app databases',
  );
  throw fail('raw_db_unavailable', {
    detail:
      problem.kind === 'may_not_create'
        ? 'The platform may not create databases there. The operator finds the remedy in the server log.'
        : 'Every login may connect to other databases there. The operator finds the remedy in the server log.',
  });
}

export async function rotateRawDb(ctx: AppMutationCtx): Promise<RawDbRecord & { connection_string: string }> {
  const app = await lockAppFor(ctx, { required: 'owner' });
  const present = await lockRawDbRow(ctx.db, ctx.tenant.id, app.id);
  if (!present || present.state === 'dropping') {
    throw fail('invalid_state_transition', { detail: 'The app has no raw database.' });
  }
  const change = { knownTo: [ctx.caller.userId], slug: app.slug };
  const { password, row } = await changePassword(ctx, present, change);
  ctx.warn('The old password stops working and open connections are closed.');
  const { database } = row;
  const connection_string = rawUrl(row.address, { user: database, password, database });
  return { ...rawDbRecord(row), connection_string };
}

export async function disableRawDb(ctx: AppMutationCtx): Promise<RawDbRecord & { changed?: false }> {
  const app = await lockAppFor(ctx, { required: 'owner' });
  const row = await lockRawDbRow(ctx.db, ctx.tenant.id, app.id);
  if (!row || row.state === 'dropping') {
    auditRawDb(ctx, app, 'rawDb.disable', {}, {});
    return { ...rawDbRecord(row), changed: false };
  }
  await updateRawDbRow(ctx.db, ctx.tenant.id, app.id, { state: 'dropping' });
  const { database, connections_max, enabled_at } = row;
  auditRawDb(ctx, app, 'rawDb.disable', { enabled: true, database, connections_max, enabled_at }, null);
  ctx.warn('All data in the database is deleted, its login is removed and open connections are closed.');
  ctx.enqueue('rawDb.settle', { tenant_id: ctx.tenant.id, database });
  return rawDbRecord({ ...row, state: 'dropping' });
}

type RawDbRecord = z.output<typeof RawDb>;

function rawDbRecord(stored: RawDbRow | undefined): RawDbRecord {
  const row = stored?.state === 'dropping' ? undefined : stored;
  return {
    enabled: row !== undefined,
    status: row?.is_closed ? 'closed' : (stored?.state ?? 'none'),
    database: row?.database ?? null,
    role: row?.database ?? null,
    ...(row ? hostAndPort(row.address) : { host: null, port: null }),
    connections_max: row?.connections_max ?? null,
    enabled_at: row?.enabled_at.toISOString() ?? null,
  };
}
