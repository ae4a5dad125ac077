import { uploadGrantSeconds, uploadsPrefix } from '@svc/contract/static-sites.ts';
import type { Logger } from 'pino';
import type { AppMutationCtx } from '../../core/context.ts';
import type { LiveKey } from '../../core/keys.ts';
import { Failure, fail } from '../../core/problem.ts';
import { urlExpiry } from '../../data/storage/signed-urls.ts';
import type { RequestHandler, RequestInfo } from '../../http/handlers.ts';
import type { CountedCaller } from '../../http/rate-limit.ts';
import { bodyChunks } from '../../http/read-body.ts';
import { signUrlToken, type UrlClaims, verifyUrlToken } from '../../http/signed-url.ts';
import { requireMinimumRate } from '../minimum-rate.ts';
import type { UploadDeps } from '../sources/receive-source.ts';
import { blobKeys, digestMismatchError, storeBlob, type UploadedBlob } from './blobs.ts';
import { type FileRow, findExpectedBlob, insertBlobRow, listMissing } from './file-store.ts';
import { lockRelease } from './pointers.ts';
import type { ReleaseRow } from './release-store.ts';
import { releaseRecord } from './releases.ts';
import { releaseEntry, requireNotArchived, type SiteUrls, stateText } from './rules.ts';

export function createUploadsHandler(deps: UploadDeps): RequestHandler {
  return async (request, url, info) => {
    info.setRoute('uploads');
    if (request.method !== 'PUT') throw fail('method_not_allowed', { headers: { allow: 'PUT' } });
    const { claims, sha256 } = parseUploadPath(deps, url.pathname);
    return receiveBlob(deps, { claims, sha256, request, info });
  };
}

/** A release may have thousands of files: like a token, it has a limit of its own. */
export const countedRelease =
  ({ urlKey, now }: Pick<UploadDeps, 'urlKey' | 'now'>) =>
  (path: string): CountedCaller | null => {
    const [token = ''] = path.slice(uploadsPrefix.length).split('/');
    const claims = verifyUrlToken<UploadClaims>(urlKey, token, now());
    if (claims === null || claims === 'expired' || claims.purpose !== 'release.put') return null;
    const { release, issuer, tenant } = claims;
    const scope = { tenantId: tenant, actions: [], apps: [] };
    return { kind: 'pat', userId: issuer, credentialId: release, scope };
  };

function parseUploadPath({ urlKey, now }: UploadDeps, path: string) {
  const [token = '', sha256 = '', ...more] = path.slice(uploadsPrefix.length).split('/');
  const claims = more.length > 0 ? null : verifyUrlToken<UploadClaims>(urlKey, token, now());
  if (claims === 'expired') throw fail('url_expired');
  // Other URLs are signed with the same key.
  if (claims?.purpose !== 'release.put') throw invalidUrlError();
  return { claims, sha256 };
}

function invalidUrlError(): Failure {
  return fail('forbidden', { detail: 'This is not a valid upload URL.' });
}

interface Upload {
  claims: UploadClaims;
  sha256: string;
  request: Request;
  info: RequestInfo;
}

const keepAliveMs = 10_000;

async function receiveBlob(deps: UploadDeps, upload: Upload): Promise<Response> {
  const { claims, sha256, request, info } = upload;
  await checkIssuer(deps, claims);
  const ref = { tenantId: claims.tenant, appId: claims.app };
  const expected = await findExpectedBlob(deps.db, ref, { releaseId: claims.release, sha256 });
  // The release existed when the URL was signed.
  if (!expected) throw fail('release_not_draft', { detail: 'The release was deleted.' });
  if (expected.state !== 'draft')
    throw fail('release_not_draft', { detail: `The release is ${stateText(expected.state)}.` });
  const { size, stored } = expected;
  if (size === null) throw fail('not_in_manifest');
  if (stored !== null) {
    if (stored !== size) throw digestMismatchError(`size is ${stored} instead of ${size} bytes`);
    return respond({ sha256, size }, 200);
  }
  checkHeaders(request, size);
  const extendTimeout = () => info.extendTimeout?.();
  const body = bodyChunks(request, { extendTimeout, msMax: uploadGrantSeconds * 1000 });
  const keepAlive = setInterval(extendTimeout, keepAliveMs);
  try {
    const isNew = await saveBlob(deps, {
      ref,
      releaseId: claims.release,
      sha256,
      size,
      log: info.log,
      chunks: requireMinimumRate(body, () => deps.now().getTime()),
      confirm: () => checkIssuer(deps, claims),
    });
    return respond({ sha256, size }, isNew ? 201 : 200);
  } finally {
    clearInterval(keepAlive);
  }
}

/** Checked before and after the body, which can take minutes: the issuer may lose the right meanwhile. */
async function checkIssuer(deps: UploadDeps, claims: UploadClaims): Promise<void> {
  const issuer = await deps.issuerAccess(claims);
  if (!issuer)
    throw fail('forbidden', {
      detail: 'The user who created this upload URL is no longer allowed to deploy the app.',
    });
  requireNotArchived(issuer.app);
}

function respond(body: { sha256: string; size: number }, status: 200 | 201): Response {
  return Response.json(body, { status, headers: { 'cache-control': 'no-store' } });
}

function checkHeaders({ headers }: Request, size: number): void {
  const encoding = headers.get('content-encoding');
  if (encoding !== null && encoding.toLowerCase() !== 'identity')
    throw fail('unsupported_media_type', { detail: 'Send the body without a Content-Encoding.' });
  const length = headers.get('content-length');
  if (length !== null && Number(length) !== size)
    throw digestMismatchError(`size is ${length} instead of ${size} bytes`);
}

interface BlobUpload extends Omit<UploadedBlob, 'blobId'> {
  releaseId: string;
  log: Logger;
  confirm: () => Promise<unknown>;
}

/** Stores the object before the row, so that every row has its object. */
export async function saveBlob(
  deps: Pick<UploadDeps, 'db' | 'objects' | 'now'>,
  { releaseId, log, confirm, ...blob }: BlobUpload,
): Promise<boolean> {
  const { ref, sha256, size } = blob;
  const blobId = Bun.randomUUIDv7();
  const deleteObjects = async () => {
    for (const key of blobKeys(ref, { blob_id: blobId, gzip_size: 0, brotli_size: 0 }))
      await deps.objects
        .delete(key)
        .catch((error: unknown) => log.warn({ err: error, key }, 'orphan object not deleted'));
  };
  try {
    const stored = await storeBlob(deps.objects, { ...blob, blobId });
    await confirm();
    const row = {
      app_id: ref.appId,
      tenant_id: ref.tenantId,
      sha256,
      size,
      ...stored,
      stored_at: deps.now(),
    };
    if (await insertBlobRow(deps.db, row, releaseId)) return true;
    await deleteObjects();
  } catch (error) {
    // After a lost database connection the row may exist: delete only if the failure is certain.
    if (error instanceof Failure) await deleteObjects();
    throw error;
  }
  const now = await findExpectedBlob(deps.db, ref, { releaseId, sha256 });
  if (now?.state !== 'draft') throw fail('release_not_draft');
  return false;
}

export interface UploadClaims extends UrlClaims {
  purpose: 'release.put';
  release: string;
  /** App and tenant by id: slugs can be reassigned. */
  app: string;
  tenant: string;
  issuer: string;
}

export interface SiteDeps extends SiteUrls {
  urlKey: LiveKey<string>;
}

export function uploadGrant({ baseUrl, urlKey }: SiteDeps, ctx: AppMutationCtx, release: ReleaseRow) {
  const { expires, expires_at } = urlExpiry(ctx.now, uploadGrantSeconds);
  const token = signUrlToken<UploadClaims>(urlKey, {
    purpose: 'release.put',
    expires,
    release: release.id,
    app: release.app_id,
    tenant: release.tenant_id,
    issuer: ctx.caller.userId,
  });
  return { upload_url: `${baseUrl}${uploadsPrefix}${token}/`, upload_expires_at: expires_at };
}

export function missingFields(missing: readonly Pick<FileRow, 'sha256' | 'size'>[]) {
  return {
    missing: missing.map(({ sha256 }) => sha256),
    missing_bytes: missing.reduce((sum, { size }) => sum + size, 0),
  };
}

export async function grantUpload(ctx: AppMutationCtx, { id }: { id: string }, deps: SiteDeps) {
  const locked = await lockRelease(ctx, { id, required: 'owners', archived: 'refused' });
  const { ref, site, release, open } = locked;
  if (release.state !== 'draft')
    throw fail('release_not_draft', { detail: `The release is ${stateText(release.state)}.` });
  ctx.audit({
    ...releaseEntry('releases.grantUpload', release),
    before: null,
    after: { expires_in_seconds: uploadGrantSeconds },
  });
  return {
    ...releaseRecord(release, { site, open }),
    ...missingFields(await listMissing(ctx.db, ref, release.id)),
    ...uploadGrant(deps, ctx, release),
  };
}
