import { previewsMax } from '@svc/contract/previews.ts';
import { lockAppFor } from '../../apps/record/app-access.ts';
import { type AppRow, lockApp } from '../../apps/record/find-app.ts';
import { purgeLockedApp } from '../../apps/record/lifecycle.ts';
import { insertPreviewApp, previewSeparator, previewSlugCharsMax } from '../../apps/record/preview-apps.ts';
import {
  type AppCtx,
  type AppMutationCtx,
  type AppRef,
  appRef,
  type MutationCtx,
} from '../../core/context.ts';
import { type OperatorDeps, runAsOperator } from '../../core/mutation.ts';
import { type PageQuery, paginate } from '../../core/paging.ts';
import { fail, orNotFound } from '../../core/problem.ts';
import { sha256 } from '../../core/values.ts';
import { enableRawDb, getRawDb } from '../../data/raw-databases/raw-db.ts';
import { enableStorageForApp, isStorageEnabled } from '../../data/storage/storage.ts';
import { copyTables } from '../../data/tables/copy-tables.ts';
import type { GitHost } from '../../drivers/git/git-host.ts';
import type { RawDatabases } from '../../drivers/raw-database/raw-databases.ts';
import { findTenant } from '../../people/tenants/tenants.ts';
import { pushDeployments, queueDeployment } from '../deployments/queue-deployment.ts';
import { findConnection } from '../git-connections/connections.ts';
import type { PreviewPush, PushPreviews } from '../git-connections/rules.ts';
import {
  branchSlug,
  findPreviewRow,
  findPreviewSettings,
  insertPreviewRow,
  listExpiredPreviews,
  listPreviewRows,
  type PreviewRecord,
  type PreviewRow,
  previewRecord,
  slugCharsMin,
  updatePreviewRow,
} from './preview-records.ts';

export interface PreviewUrls {
  baseUrl: string;
  appsDomain: string;
}

export async function listPreviews(ctx: AppCtx, query: PageQuery, urls: PreviewUrls) {
  const rows = await listPreviewRows(ctx.db, appRef(ctx));
  return paginate(
    query,
    rows.map((row) => previewRecord(row, urls)),
  );
}

export async function getPreview(
  ctx: AppCtx,
  { slug }: { slug: string },
  urls: PreviewUrls,
): Promise<PreviewRecord> {
  return previewRecord(await requirePreview(ctx, slug), urls);
}

async function requirePreview(ctx: AppCtx, slug: string): Promise<PreviewRow> {
  const row = await findPreviewRow(ctx.db, appRef(ctx), { slug });
  if (!row) throw fail('not_found', { detail: `The app has no preview ${slug}.` });
  return row;
}

export async function redeployPreview(
  ctx: AppMutationCtx,
  { slug }: { slug: string },
  urls: PreviewUrls,
): Promise<PreviewRecord> {
  const app = await lockAppFor(ctx, { required: 'owners' });
  if (app.record !== 'active') throw fail('app_not_active');
  const row = await requirePreview(ctx, slug);
  const connection = await findConnection(ctx.db, appRef(ctx));
  if (!connection) throw fail('no_source', { detail: 'The app is not connected to a repository.' });
  await updatePreviewRow(ctx.db, row, { expires_at: expiry(ctx.now, row.ttl_seconds) });
  await updateTables(ctx, row);
  await queueDeployment(ctx, {
    tenantId: row.tenant_id,
    appId: row.app_id,
    trigger: 'person',
    source: 'repository',
    ref: row.branch,
    repo: `${connection.repo.owner}/${connection.repo.name}`,
    createdBy: ctx.caller.userId,
  });
  return previewRecord(await requirePreview(ctx, slug), urls);
}

export async function deletePreview(ctx: AppMutationCtx, { slug }: { slug: string }): Promise<undefined> {
  await lockAppFor(ctx, { required: 'owners' });
  await removePreview(ctx, await requirePreview(ctx, slug));
}

/** Caller must hold the parent's row lock. */
async function removePreview(
  ctx: MutationCtx,
  { tenant_id, app_id }: Pick<PreviewRow, 'tenant_id' | 'app_id'>,
): Promise<void> {
  const app = await lockApp(ctx.db, tenant_id, app_id, 'any');
  if (app) await purgeLockedApp(ctx, app, { action: 'previews.delete' });
}

/** For an app that no longer runs. Caller must hold its row lock. */
export async function removePreviews(ctx: MutationCtx, { tenantId, appId }: AppRef): Promise<void> {
  for (const row of await listPreviewRows(ctx.db, { tenantId, appId })) {
    await removePreview(ctx, row);
    ctx.warnOfLoss(`The preview of ${row.branch} is removed with its rows and files.`);
  }
}

export async function removeExpiredPreviews(deps: OperatorDeps & { now: () => Date }): Promise<void> {
  for (const { tenant_id: tenantId, parent_id: appId, branch } of await listExpiredPreviews(
    deps.db,
    deps.now(),
  )) {
    const change = { name: 'previews.delete', auditTenantId: tenantId };
    // A failure of one does not stop the others; the next run repeats it.
    await runAsOperator(deps, change, async (ctx) => {
      await lockApp(ctx.db, tenantId, appId, 'any');
      const row = await findPreviewRow(ctx.db, { tenantId, appId }, { branch });
      if (row && row.expires_at <= ctx.now) await removePreview(ctx, row);
    }).catch((error: unknown) =>
      deps.log.error({ err: error, app: appId, branch, tenant: tenantId }, 'preview removal failed'),
    );
  }
}

const expiry = (now: Date, seconds: number) => new Date(now.getTime() + seconds * 1_000);

/** Passed to git-connections, which must not import this slice. */
export const createPushPreviews = (deps: { gitHost: GitHost; raw: RawDatabases }): PushPreviews => ({
  findSettings: (connection, branch) => findPreviewSettings(deps, connection, branch),
  push: (ctx, push) => pushPreview(ctx, push, deps),
  async remove(ctx, parent, branch) {
    const row = await findPreviewRow(ctx.db, parent, { branch });
    if (row) await removePreview(ctx, row);
    return row !== undefined;
  },
});

/** Caller must hold the row lock of `app`. */
async function pushPreview(
  ctx: MutationCtx,
  push: PreviewPush,
  deps: { raw: RawDatabases },
): ReturnType<PushPreviews['push']> {
  const { app, branch, commit, repo, createdBy, settings } = push;
  const parent = { tenantId: app.tenant_id, appId: app.id };
  const existing = await findPreviewRow(ctx.db, parent, { branch });
  const pushed = {
    commit_sha: commit,
    pushed_by: createdBy,
    pushed_at: ctx.now,
    ttl_seconds: settings.ttlSeconds,
    expires_at: expiry(ctx.now, settings.ttlSeconds),
  };
  let appId = existing?.app_id;
  if (existing) {
    await updatePreviewRow(ctx.db, existing, pushed);
    const newest = await pushDeployments.findNewest(ctx.db, {
      tenantId: app.tenant_id,
      appId: existing.app_id,
    });
    if (newest && existing.commit_sha === commit) return { outcome: 'repeated' };
    await updateTables(ctx, existing);
  } else {
    const others = await listPreviewRows(ctx.db, parent);
    if (others.length >= previewsMax) return { outcome: 'preview_limit' };
    const created = await createPreview(ctx, app, { ...deps, branch, taken: others.map(({ slug }) => slug) });
    if (!created) return { outcome: 'preview_no_host' };
    appId = created.app.id;
    await insertPreviewRow(ctx.db, {
      ...pushed,
      app_id: appId,
      tenant_id: app.tenant_id,
      parent_id: app.id,
      branch,
      slug: created.slug,
      created_at: ctx.now,
    });
  }
  if (appId === undefined) throw new Error('A preview has no app.');
  const deployment = await queueDeployment(ctx, {
    tenantId: app.tenant_id,
    appId,
    trigger: 'push',
    source: 'repository',
    ref: branch,
    repo,
    createdBy,
  });
  return { outcome: 'preview', previewId: appId, deploymentId: deployment.id };
}

async function updateTables(
  ctx: MutationCtx,
  { tenant_id: tenantId, app_id, parent_id, slug, pushed_by }: PreviewRow,
): Promise<void> {
  // Columns of files need storage.
  if (await isStorageEnabled(ctx.db, { tenantId, appId: parent_id })) {
    const isEnabled = await isStorageEnabled(ctx.db, { tenantId, appId: app_id });
    const as = {
      ...ctx,
      tenant: await tenantOf(ctx, tenantId),
      caller: { ...ctx.caller, userId: pushed_by ?? ctx.caller.userId },
    };
    if (!isEnabled) await enableStorageForApp(as, { id: app_id, slug });
  }
  const added = await copyTables(ctx, {
    from: { tenantId, appId: parent_id },
    to: { tenantId, appId: app_id },
  });
  if (added.length === 0) return;
  ctx.audit({
    action: 'previews.updateTables',
    appId: app_id,
    target: { kind: 'app', id: app_id, name: slug },
    before: null,
    after: { added },
  });
}

const nameCharsMax = 100;

async function createPreview(
  ctx: MutationCtx,
  parent: AppRow,
  { branch, taken, raw }: { branch: string; taken: readonly string[]; raw: RawDatabases },
): Promise<{ app: AppRow; slug: string } | null> {
  const charsMax = previewSlugCharsMax(parent.subdomain);
  if (charsMax < slugCharsMin) return null;
  const slug = branchSlug(branch, { charsMax, isTaken: (name) => taken.includes(name) });
  const subdomain = `${slug}${previewSeparator}${parent.subdomain}`;
  const name = `${parent.name} (${branch})`.slice(0, nameCharsMax);
  const app =
    (await insertPreviewApp(ctx, parent, { slug: subdomain, subdomain, name })) ??
    (await insertPreviewApp(ctx, parent, {
      slug: `preview-${sha256(`${parent.id} ${branch}`).slice(0, 16)}`,
      subdomain,
      name,
    }));
  if (!app) throw fail('slug_taken', { detail: `An app has the name of the preview of ${branch}.` });
  const [from, to] = [parent, app].map(({ tenant_id: tenantId, id: appId }) => ({ tenantId, appId }));
  if (!from || !to) throw new Error('A preview has no app.');
  const tables = await copyTables(ctx, { from, to });
  await enableSameServices(ctx, { parent, app, raw });
  ctx.audit({
    action: 'previews.create',
    appId: app.id,
    target: { kind: 'app', id: app.id, name: app.slug },
    before: null,
    after: { preview_of: parent.slug, branch, subdomain, tables },
  });
  return { app, slug };
}

async function tenantOf(ctx: MutationCtx, id: string) {
  const found = orNotFound(await findTenant(ctx, { ref: id }));
  return { id: found.id, slug: found.slug, name: found.name, role: 'tenant_member' as const };
}

async function enableSameServices(
  ctx: MutationCtx,
  { parent, app, raw }: { parent: AppRow; app: AppRow; raw: RawDatabases },
): Promise<void> {
  const tenant = await tenantOf(ctx, app.tenant_id);
  const as = { ...ctx, tenant, caller: { ...ctx.caller, userId: app.owner_id } };
  const [ofParent, ofPreview] = [parent, app].map((row) => ({
    ...as,
    app: {
      id: row.id,
      slug: row.slug,
      name: row.name,
      ownerId: row.owner_id,
      visibility: row.visibility,
      record: 'active' as const,
      relation: 'owner' as const,
      previewOf: row.preview_of,
    },
  }));
  if (!ofParent || !ofPreview) return;
  if (await isStorageEnabled(ctx.db, appRef(ofParent))) await enableStorageForApp(as, app);
  if ((await getRawDb(ofParent)).enabled) await enableRawDb(ofPreview, { raw });
}
