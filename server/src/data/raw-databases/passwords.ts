import { createHmac } from 'node:crypto';
import type { AppRef, AuditedChange, MutationCtx } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { declareSealingKey } from '../../core/keys.ts';
import { seal, sealingKey, unseal } from '../../core/seal.ts';
import { newPassword } from '../../drivers/database/roles.ts';
import { rawUrl } from '../../drivers/raw-database/server.ts';
import { findRawDbRow, lockRawDbRowsKnownTo, type RawDbRow, updateRawDbRow } from './store.ts';

export const rawDatabaseKey = declareSealingKey({
  name: 'raw_db.sealing_key',
  protects: "Passwords of apps' own databases",
  columns: { 'raw_databases.password_sealed': 'database' },
});

/** Encrypted, not hashed: the app's environment needs the password again. */
export async function sealPassword(db: Db, login: { database: string; password: string }): Promise<Buffer> {
  return seal(await sealingKey(db, rawDatabaseKey), { text: login.password, boundTo: login.database });
}

export async function unsealPassword(db: Db, row: { database: string; password_sealed: Buffer }) {
  return unseal(await sealingKey(db, rawDatabaseKey), { sealed: row.password_sealed, boundTo: row.database });
}

export function readerPassword(password: string, deploymentId: string): string {
  return createHmac('sha256', password).update(`review ${deploymentId}`).digest('base64url');
}

export async function changePassword(
  ctx: MutationCtx,
  row: RawDbRow,
  { knownTo, slug }: { knownTo: string[]; slug: string },
): Promise<{ password: string; row: RawDbRow }> {
  const password = newPassword();
  const set = {
    state: 'creating' as const,
    password_sealed: await sealPassword(ctx.db, { database: row.database, password }),
    password_at: ctx.now,
    known_to: knownTo,
  };
  await updateRawDbRow(ctx.db, row.tenant_id, row.app_id, set);
  const before = { password_at: row.password_at };
  auditRawDb(ctx, { id: row.app_id, slug }, 'rawDb.rotate', before, { password_at: ctx.now });
  ctx.enqueue('rawDb.settle', { tenant_id: row.tenant_id, database: row.database });
  return { password, row: { ...row, ...set } };
}

export function auditRawDb(
  ctx: MutationCtx,
  { id, slug }: { id: string; slug: string },
  action: string,
  before: AuditedChange['before'],
  after: AuditedChange['after'],
): void {
  ctx.audit({ action, appId: id, target: { kind: 'raw_database', id, name: slug }, before, after });
}

/** For a person who stops being an owner. Nobody sees the new passwords. */
export async function rotateRawDbsKnownTo(
  ctx: MutationCtx,
  person: { tenantId: string; userId: string; appId?: string },
): Promise<void> {
  for (const { slug, ...row } of await lockRawDbRowsKnownTo(ctx.db, person.tenantId, person)) {
    await changePassword(ctx, row, { knownTo: [], slug });
    ctx.warn(
      `The password of the raw database of ${slug} changes, because the person has seen it. Open connections are closed.`,
    );
  }
}

export async function rawDatabaseEnv(db: Db, { tenantId, appId }: AppRef): Promise<Record<string, string>> {
  const row = await findRawDbRow(db, tenantId, appId);
  if (!row || row.state === 'dropping') return {};
  const { database } = row;
  return {
    DATABASE_URL: rawUrl(row.address, { user: database, password: await unsealPassword(db, row), database }),
  };
}
