import { newPassword } from '../drivers/database/scram.ts';
import type { MutationCtx } from '../plumbing/context.ts';
import { sealPassword } from './password-seal.ts';
import { type RawDbRow, updateRawDbRow } from './store.ts';

/** The effect gives it to PostgreSQL, and puts out whoever came in with the one before. */
export async function newPasswordOf(
  ctx: MutationCtx,
  row: RawDbRow,
  { knownTo, slug }: { knownTo: string[]; slug: string },
): Promise<{ password: string; row: RawDbRow }> {
  const password = newPassword();
  const set = {
    // A deleted app's is closed: it gets it when it is opened again.
    state: 'creating' as const,
    password_sealed: await sealPassword(ctx.db, { database: row.database, password }),
    password_at: ctx.now,
    known_to: knownTo,
  };
  await updateRawDbRow(ctx.db, row.tenant_id, row.app_id, set);
  ctx.audit({
    action: 'rawDb.rotate',
    appId: row.app_id,
    target: { kind: 'raw_database', id: row.app_id, name: slug },
    before: { password_at: row.password_at },
    after: { password_at: ctx.now },
  });
  ctx.enqueue('rawDb.settle', { tenant_id: row.tenant_id, database: row.database });
  return { password, row: { ...row, ...set } };
}
