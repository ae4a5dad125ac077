import {
  sourceBytesMax,
  sourcesPrefix,
  sourceUploadSeconds,
  sourceUploadsPerHourMax,
} from '@svc/contract/deployments.ts';
import { holdApp } from '../apps/hold-app.ts';
import type { AppMutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { signUrlToken, type UrlClaims } from '../plumbing/signed-url.ts';
import { expiryOf } from '../storage/object-url.ts';
import { countUploadRows, insertUploadRow } from './store.ts';

/** The right to send the source of one deployment, once. */
export interface SourceClaims extends UrlClaims {
  purpose: 'source.put';
  upload: string;
  /** By id, like the tenant: a name that is given to another leads nowhere. */
  app: string;
  tenant: string;
  /** The user whose right it is, for as long as they have it. */
  issuer: string;
}

export interface SourceParts {
  baseUrl: string;
  urlKey: string;
}

const hourMs = 3_600_000;

export async function grantSourceUpload(ctx: AppMutationCtx, { baseUrl, urlKey }: SourceParts) {
  const app = await holdApp(ctx, { wanted: 'owners' });
  if (app.record !== 'active')
    throw fail('app_not_active', { detail: 'The app is archived; reactivate it first.' });
  // What can not be deployed need not be sent.
  if (app.runtime === 'suspended') throw fail('app_suspended');
  const place = { tenantId: ctx.tenant.id, appId: app.id };
  const sinceAnHour = new Date(ctx.now.getTime() - hourMs + sourceUploadSeconds * 1_000);
  if ((await countUploadRows(ctx.db, place, sinceAnHour)) >= sourceUploadsPerHourMax)
    throw fail('limit_reached', {
      detail: `Source of an app can be sent ${sourceUploadsPerHourMax} times an hour.`,
    });
  const { expires, expires_at } = expiryOf(ctx.now, sourceUploadSeconds);
  const id = ctx.newId();
  await insertUploadRow(ctx.db, {
    ...{ id, tenant_id: place.tenantId, app_id: app.id, created_by: ctx.caller.userId },
    ...{ bytes: null, sha256: null, arrived_at: null, expires_at: new Date(expires * 1_000) },
  });
  ctx.audit({
    action: 'deployments.grantUpload',
    appId: app.id,
    target: { kind: 'source', id, name: app.slug },
    before: null,
    after: { expires_in_seconds: sourceUploadSeconds, bytes_max: sourceBytesMax },
  });
  const token = signUrlToken<SourceClaims>(urlKey, {
    ...{ purpose: 'source.put', expires, upload: id },
    ...{ app: app.id, tenant: place.tenantId, issuer: ctx.caller.userId },
  });
  return {
    upload_id: id,
    put_url: `${baseUrl}${sourcesPrefix}${token}`,
    expires_at,
    bytes_max: sourceBytesMax,
  };
}
