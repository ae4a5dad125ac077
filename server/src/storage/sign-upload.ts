import type { signUpload as shape } from '@svc/contract/storage.shapes.ts';
import type { z } from 'zod';
import { confirmApp } from '../apps/confirm-app.ts';
import type { AppMutationCtx } from '../plumbing/context.ts';
import { expiryOf, objectUrl, type UrlSigning } from './object-url.ts';
import { bytesLeft, notEnabled, refuseArchived, refuseTooMuch } from './rules.ts';
import { findObjectRow, findStorageRow } from './store.ts';

/** The right to write one object, for a while. Nothing is stored by it; the upload is a change of its own. */
export async function signUpload(
  ctx: AppMutationCtx,
  { key, content_type, size, expires_in }: z.output<typeof shape.body>,
  signing: UrlSigning,
) {
  const place = { tenantId: ctx.tenant.id, appId: ctx.app.id };
  refuseArchived(await confirmApp(ctx, { wanted: 'owners' }));
  const storage = await findStorageRow(ctx.db, place);
  if (!storage) throw notEnabled();
  const there = await findObjectRow(ctx.db, place, key);
  refuseTooMuch(size ?? 0, bytesLeft(storage, there));
  if (there) ctx.warn(`An object of ${there.size} bytes is under this key; the upload takes its place.`);
  ctx.audit({
    action: 'storage.signUpload',
    appId: place.appId,
    target: { kind: 'object', id: key, name: key },
    before: null,
    after: { content_type, size: size ?? null, expires_in_seconds: expires_in },
  });
  const { expires, expires_at } = expiryOf(ctx.now, expires_in);
  const put_url = objectUrl(signing, {
    purpose: 'object.put',
    tenant: place.tenantId,
    app: place.appId,
    key,
    issuer: ctx.caller.userId,
    expires,
    content_type,
    ...(size === undefined ? {} : { size }),
  });
  return { key, put_url, expires_at, headers: { 'content-type': content_type } };
}
