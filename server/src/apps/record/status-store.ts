import { type RawBuilder, sql } from 'kysely';
import type { AppAccess, AppRef, MutationCtx } from '../../core/context.ts';
import type { Db, Tx } from '../../core/db.ts';
import { appTag } from '../../core/tags.ts';

/** Caller must hold the app's row lock, as for each change below. */
async function update(
  { db, now, invalidate }: Pick<MutationCtx, 'db' | 'now' | 'invalidate'>,
  { tenantId, appId }: AppRef,
  set: RawBuilder<unknown>,
  condition = sql`true`,
): Promise<void> {
  await sql`update svc.apps set ${set}, updated_at = ${now}
    where tenant_id = ${tenantId} and id = ${appId} and ${condition}`.execute(db);
  invalidate(appTag(appId));
}

export function markReviewed(ctx: MutationCtx, app: AppRef, status: 'pending' | 'rejected') {
  return update(ctx, app, sql`review_status = ${status}`);
}

export function resetReviewStatus(ctx: MutationCtx, app: AppRef) {
  const status = sql`review_status = case visibility when 'private' then 'none' else 'approved' end`;
  return update(ctx, app, status, sql`review_status in ('pending', 'approved')`);
}

/** The only way to widen an app's visibility. `invitedMax`: approved by policy, for so many invited people. */
export function widenApp(
  ctx: MutationCtx,
  app: AppRef,
  { visibility, invitedMax }: { visibility: AppAccess['visibility']; invitedMax: number | null },
) {
  const set = sql`visibility = ${visibility}, invited_people_max = ${invitedMax}, review_status = 'approved'`;
  return update(ctx, app, set);
}

/** The only way to approve data scopes: those that a review named. */
export function approveDataScopes(ctx: MutationCtx, app: AppRef, scopes: readonly string[]) {
  return update(ctx, app, sql`approved_data_scopes = ${[...scopes]}`);
}

interface DataScopes {
  requested: string[];
  approved: string[];
}

export async function findDataScopes(db: Db, { tenantId, appId }: AppRef): Promise<DataScopes> {
  const { rows } = await sql<DataScopes>`
    select parent.data_scopes as requested, parent.approved_data_scopes as approved
    from svc.apps a join svc.apps parent on parent.id = coalesce(a.preview_of, a.id)
    where a.tenant_id = ${tenantId} and a.id = ${appId}`.execute(db);
  return rows[0] ?? { requested: [], approved: [] };
}

export async function findInvitedMax(db: Db, { tenantId, appId }: AppRef): Promise<number | null> {
  const { rows } = await sql<{ max: number | null }>`
    select invited_people_max as max from svc.apps
    where tenant_id = ${tenantId} and id = ${appId} and visibility = 'invite_only'`.execute(db);
  return rows[0]?.max ?? null;
}

export function markDeployed(ctx: MutationCtx, app: AppRef) {
  const runtime = sql`runtime = case runtime when 'none' then 'running' else runtime end`;
  return update(ctx, app, sql`${runtime}, is_deployed = true`);
}

/** An app that also runs a process stays deployed, and a suspended one suspended. */
export function markUndeployed(ctx: MutationCtx, app: AppRef) {
  const runtime = sql`runtime = case runtime when 'running' then 'none' else runtime end`;
  const hasNoProcess = sql`not exists (
    select from svc.deployments d where d.id = apps.live_deployment_id and d.method <> 'static')`;
  return update(ctx, app, sql`${runtime}, is_deployed = false`, hasNoProcess);
}

export function markResumed(ctx: MutationCtx, app: AppRef) {
  return update(ctx, app, sql`runtime = 'running'`, sql`runtime = 'suspended'`);
}

/** Caller must write the audit entry. */
export function setAppIcon(
  ctx: MutationCtx,
  app: AppRef,
  { column, url }: { column: 'icon_url' | 'icon_dark_url'; url: string },
) {
  return update(ctx, app, sql`${sql.ref(column)} = ${url}`);
}

interface AppOrigin {
  templateId: string | null;
  forkedFromId: string | null;
}

export async function recordOrigin(
  { db }: Pick<MutationCtx, 'db'>,
  { tenantId, appId, origin }: AppRef & { origin: AppOrigin },
): Promise<void> {
  await sql`
    update svc.apps set template_id = ${origin.templateId}, forked_from_id = ${origin.forkedFromId}
    where tenant_id = ${tenantId} and id = ${appId}`.execute(db);
}

export async function findOrigin(db: Db, { tenantId, appId }: AppRef): Promise<AppOrigin> {
  const { rows } = await sql<AppOrigin>`
    select template_id as "templateId", forked_from_id as "forkedFromId"
    from svc.apps where tenant_id = ${tenantId} and id = ${appId}`.execute(db);
  return rows[0] ?? { templateId: null, forkedFromId: null };
}

/** Includes deleted apps. The host is ignored: the base URL may change. */
export async function listIconIdsInUse(db: Db, tenantId: string): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ id: string }>`
    select substring(url from '/icons/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})') as id
    from svc.apps, lateral (values (icon_url), (icon_dark_url)) as icons (url)
    where tenant_id = ${tenantId} and url like '%/icons/%'`.execute(db);
  return new Set(rows.map((row) => row.id).filter(Boolean));
}

/** Caller must hold the app's row lock. */
export async function setLiveDeployment(
  { db }: MutationCtx,
  { tenantId, appId }: AppRef,
  deploymentId: string | null,
): Promise<void> {
  await sql`update svc.apps set live_deployment_id = ${deploymentId}
    where tenant_id = ${tenantId} and id = ${appId}`.execute(db);
}

/** Caller must hold the app's row lock. */
export function nextDeploymentSeq(tx: Tx, app: AppRef): Promise<number> {
  return assignNumber(tx, app, sql`deployments_made`, sql`deployments_made + 1`);
}

/** Assigned on first use: a sequence value cannot be given back when the preview of an app is rolled back. */
export function assignRuntimeNumber(db: Db, app: AppRef): Promise<number> {
  const next = sql`coalesce(runtime_number, nextval('svc.app_runtime_numbers'))`;
  return assignNumber(db, app, sql`runtime_number`, next);
}

async function assignNumber(
  db: Db,
  { tenantId, appId }: AppRef,
  column: RawBuilder<unknown>,
  value: RawBuilder<unknown>,
): Promise<number> {
  const { rows } = await sql<{ number: number }>`update svc.apps set ${column} = ${value}
    where tenant_id = ${tenantId} and id = ${appId} returning ${column} as number`.execute(db);
  if (!rows[0]) throw new Error('app not found');
  return rows[0].number;
}
