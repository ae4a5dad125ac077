import { rawDbConnectionsMax } from '@svc/contract/raw-db.ts';
import { holdApp } from '../apps/hold-app.ts';
import { newPassword } from '../drivers/database/scram.ts';
import { describeObstacle } from '../drivers/raw-database/obstacle.ts';
import type { RawDatabases } from '../drivers/raw-database/raw-databases.ts';
import { rawName } from '../drivers/raw-database/raw-name.ts';
import { rawUrl } from '../drivers/raw-database/raw-url.ts';
import type { AppMutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { sealPassword } from './password-seal.ts';
import { type RawDbRecord, rawDbRecord } from './rules.ts';
import { factsOf, insertRawDbRow, lockRawDbRow, type RawDbRow } from './store.ts';

/** The row says what is wanted; role and database are made outside this transaction, which can be rolled back. */
export async function enableRawDb(
  ctx: AppMutationCtx,
  { raw }: { raw: RawDatabases },
): Promise<RawDbRecord & { connection_string?: string; changed?: false }> {
  const app = await holdApp(ctx, { wanted: 'owner' });
  const target = { kind: 'raw_database', id: app.id, name: app.slug };
  const present = await lockRawDbRow(ctx.db, ctx.tenant.id, app.id);
  if (present?.state === 'dropping') {
    throw fail('invalid_state_transition', {
      detail: 'The database before is still being dropped; try again soon.',
    });
  }
  if (present) {
    ctx.audit({ action: 'rawDb.enable', appId: app.id, target, before: {}, after: {} });
    return { ...rawDbRecord(factsOf(present)), changed: false };
  }
  if (app.record !== 'active') throw fail('app_not_active');
  await refuseUnsafeServer(ctx, raw);

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
  };
  await insertRawDbRow(ctx.db, row);
  ctx.audit({
    action: 'rawDb.enable',
    appId: app.id,
    target,
    before: null,
    after: { enabled: true, connections_max: row.connections_max, enabled_at: ctx.now },
  });
  ctx.enqueue('rawDb.settle', { tenant_id: ctx.tenant.id, database });
  const connection_string = rawUrl(row.address, { user: database, password, database });
  return { ...rawDbRecord(factsOf(row)), connection_string };
}

async function refuseUnsafeServer(ctx: AppMutationCtx, raw: RawDatabases): Promise<void> {
  const obstacle = await raw.obstacle().catch((error: unknown) => {
    ctx.log.warn(
      { err: error },
      'The server of databases of apps can not be asked; see SVC_RAW_DATABASE_URL.',
    );
    throw fail('raw_db_unavailable', {
      detail: "The database server can not be reached. The server's log tells the operator why.",
    });
  });
  if (!obstacle) return;
  // What else is on the server is for its operator.
  ctx.log.warn({ obstacle }, describeObstacle(obstacle));
  throw fail('raw_db_unavailable', {
    detail:
      obstacle.kind === 'may_not_create'
        ? "The platform's login may not make databases. The server's log tells the operator what helps."
        : "The database server lets every login into other databases. The server's log tells the operator what helps.",
  });
}
