import type { AppCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { expiryOf, objectUrl, type UrlSigning } from './object-url.ts';
import { notEnabled, objectRecord } from './rules.ts';
import { findObjectRow, findStorageRow } from './store.ts';

export async function getObjectUrl(
  ctx: AppCtx,
  { key, expires_in }: { key: string; expires_in: number },
  signing: UrlSigning,
) {
  const place = { tenantId: ctx.tenant.id, appId: ctx.app.id };
  if (!(await findStorageRow(ctx.db, place))) throw notEnabled();
  const row = await findObjectRow(ctx.db, place, key);
  if (!row) throw fail('not_found');
  const { expires, expires_at } = expiryOf(ctx.now, expires_in);
  const url = objectUrl(signing, {
    purpose: 'object.get',
    tenant: place.tenantId,
    app: place.appId,
    key,
    issuer: ctx.caller.userId,
    expires,
  });
  return { ...objectRecord(row), url, expires_at };
}
