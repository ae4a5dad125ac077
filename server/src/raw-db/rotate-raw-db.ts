import { holdApp } from '../apps/hold-app.ts';
import { rawUrl } from '../drivers/raw-database/raw-url.ts';
import type { AppMutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { newPasswordOf } from './new-password-of.ts';
import { type RawDbRecord, rawDbRecord } from './rules.ts';
import { factsOf, lockRawDbRow } from './store.ts';

/** A new password, handed over once; the one before ends with whoever is connected. */
export async function rotateRawDb(ctx: AppMutationCtx): Promise<RawDbRecord & { connection_string: string }> {
  const app = await holdApp(ctx, { wanted: 'owner' });
  const present = await lockRawDbRow(ctx.db, ctx.tenant.id, app.id);
  if (!present || present.state === 'dropping') {
    throw fail('invalid_state_transition', { detail: 'The app has no database of its own.' });
  }
  const { password, row } = await newPasswordOf(ctx, present, {
    knownTo: [ctx.caller.userId],
    slug: app.slug,
  });
  ctx.warn('The password before ends, and whoever is connected is put out.');
  const { database } = row;
  const connection_string = rawUrl(row.address, { user: database, password, database });
  return { ...rawDbRecord(factsOf(row)), connection_string };
}
