import { iconUnusedHours } from '@svc/contract/icons.ts';
import { uuidPattern } from '@svc/contract/limits.ts';
import { z } from 'zod';
import type { AppCtx, AppRef, MutationCtx, TenantCtx } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { type OperatorDeps, runAsOperator } from '../../core/mutation.ts';
import type { EffectHandler } from '../../core/outbox-worker.ts';
import { fail, orNotFound } from '../../core/problem.ts';
import { isUuid } from '../../core/values.ts';
import type { ObjectStore } from '../../drivers/object-store/object-store.ts';
import type { RequestHandler, RequestInfo } from '../../http/handlers.ts';
import { matchesIfNoneMatch } from '../../http/headers.ts';
import { createRateLimit } from '../../http/rate-limit.ts';
import { listCategoryIconIds } from '../categories/categories.ts';
import { getApp } from '../record/apps.ts';
import { listIconIdsInUse } from '../record/status-store.ts';
import { type IconDeps, receiveIcon } from './receive-icon.ts';
import {
  deleteIconRows,
  deleteIconRowsOfApp,
  findIconRow,
  listKnownIcons,
  listTenantsWithIcons,
  listUnusedCandidates,
  type StoredIcon,
} from './store.ts';
import {
  type IconUpload,
  iconKey,
  requireNotArchived,
  setIconChange,
  signUpload,
  type UploadInput,
  uploadIconChange,
} from './uploads.ts';

export const iconsPrefix = '/icons/';

export function createIcons(options: Omit<IconDeps, 'rateLimit'>): RequestHandler {
  const deps: IconDeps = { ...options, rateLimit: createRateLimit(options.now) };
  return async (request, url, info) => {
    info.setRoute('icons');
    const id = url.pathname.slice(iconsPrefix.length);
    if (!uuidPattern.test(id) || id !== id.toLowerCase()) throw fail('not_found');
    switch (request.method) {
      case 'GET':
      case 'HEAD':
        return serveIcon(deps, { id, request, info });
      case 'PUT':
        return receiveIcon(deps, { id, token: url.searchParams.get('token'), request, info });
      default:
        throw fail('method_not_allowed', { headers: { allow: 'GET, HEAD, PUT' } });
    }
  };
}

/** Public: icons are shown before sign-in. Content at a URL never changes. */
async function serveIcon(
  { db, objects }: { db: Db; objects: ObjectStore },
  { id, request, info }: { id: string; request: Request; info: RequestInfo },
): Promise<Response> {
  const icon = orNotFound(await findIconRow(db, id));
  const etag = `"${icon.sha256}"`;
  const headers = {
    'cache-control': 'public, max-age=31536000, immutable',
    etag,
    // An SVG opened directly must not run scripts.
    'content-security-policy': "default-src 'none'; sandbox",
    'cross-origin-resource-policy': 'cross-origin',
  };
  if (matchesIfNoneMatch(request.headers.get('if-none-match'), etag))
    return new Response(null, { status: 304, headers });
  const whole = { ...headers, 'content-type': icon.content_type, 'content-length': String(icon.size) };
  if (request.method === 'HEAD') return new Response(null, { headers: whole });
  const object = await objects.get(iconKey(icon));
  if (!object) {
    info.log.error({ icon: id }, 'icon missing in the object store');
    throw fail('not_found');
  }
  return new Response(object.body, { headers: whole });
}

export async function signIcon(ctx: AppCtx, input: UploadInput) {
  const app = await getApp(ctx);
  requireNotArchived(app);
  const change = (upload: IconUpload) => setIconChange(app, upload);
  return signUpload(ctx, input, { app: app.id, slug: app.slug, change });
}

/** The app references the icon when it is created; unreferenced icons are deleted by a job. */
export async function preCreateIcon(ctx: TenantCtx, { slug, ...input }: UploadInput & { slug: string }) {
  return signUpload(ctx, input, { app: null, slug, change: uploadIconChange });
}

export async function purgeIcons(ctx: MutationCtx, { tenantId, appId }: AppRef): Promise<{ icons: number }> {
  const icons = await deleteIconRowsOfApp(ctx.db, tenantId, appId);
  removeObjects(ctx, icons);
  return { icons: icons.length };
}

const Payload = z.object({ keys: z.array(z.string()) });
const keysMax = 100;

function removeObjects(ctx: Pick<MutationCtx, 'enqueue'>, icons: readonly StoredIcon[]): void {
  const keys = icons.map(iconKey);
  for (let at = 0; at < keys.length; at += keysMax)
    ctx.enqueue('icons.remove', { keys: keys.slice(at, at + keysMax) });
}

export function removeIconObjects({ objects }: { objects: ObjectStore }): EffectHandler {
  return async (payload) => {
    for (const key of Payload.parse(payload).keys) await objects.delete(key);
  };
}

const unusedMs = iconUnusedHours * 3_600_000;
const objectsBatchMax = 500;

export async function deleteUnusedIcons(deps: OperatorDeps): Promise<void> {
  for (const tenantId of await listTenantsWithIcons(deps.db)) {
    const change = { name: 'icons.sweep', auditTenantId: tenantId };
    // One tenant's failure does not stop the others.
    await runAsOperator(deps, change, (ctx) => deleteUnusedTenantIcons(ctx, { tenantId })).catch(
      (error: unknown) => deps.log.error({ err: error, tenant: tenantId }, 'icon cleanup failed'),
    );
  }
}

export async function deleteUnusedTenantIcons(
  ctx: MutationCtx,
  { tenantId }: { tenantId: string },
): Promise<{ icons: number }> {
  const before = new Date(ctx.now.getTime() - unusedMs);
  // Icons before references: an icon that is set in between is not seen as unused.
  const icons = await listUnusedCandidates(ctx.db, tenantId, before);
  const used = await listIconIdsInUse(ctx.db, tenantId);
  const ofCategories = new Set(await listCategoryIconIds(ctx.db, tenantId));
  const unused = icons.filter(({ id }) => !used.has(id) && !ofCategories.has(id));
  await deleteIconRows(
    ctx.db,
    tenantId,
    unused.map(({ id }) => id),
  );
  removeObjects(ctx, unused);
  return { icons: unused.length };
}

export async function deleteOrphanedIconObjects(deps: {
  db: Db;
  objects: ObjectStore;
  now: Date;
}): Promise<void> {
  const { db, objects, now } = deps;
  const before = now.getTime() - unusedMs;
  let keys: string[] = [];
  for await (const { key, modifiedAt } of objects.list('icons/')) {
    if (modifiedAt.getTime() >= before) continue;
    keys.push(key);
    if (keys.length < objectsBatchMax) continue;
    await deleteUnknownObjects(db, objects, keys);
    keys = [];
  }
  await deleteUnknownObjects(db, objects, keys);
}

async function deleteUnknownObjects(db: Db, objects: ObjectStore, keys: readonly string[]) {
  const ids = keys.map((key) => key.split('/')[1] ?? '').filter(isUuid);
  const known = new Set((await listKnownIcons(db, ids)).map(iconKey));
  for (const key of keys) if (!known.has(key)) await objects.delete(key);
}
