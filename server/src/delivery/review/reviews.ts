import type { Review, ReviewDiff, listReviews as shape } from '@svc/contract/review.shapes.ts';
import { reviewFilesMax } from '@svc/contract/review.ts';
import type { z } from 'zod';
import { findAppById, findAppOfTenant } from '../../apps/record/find-app.ts';
import { countInvited } from '../../apps/record/people.ts';
import { appUrl } from '../../apps/record/rules.ts';
import {
  type AppCtx,
  type AppMutationCtx,
  type AppRef,
  type Ctx,
  ownsApp,
  type TenantCtx,
  type TenantMutationCtx,
} from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { pageWindow, toPage } from '../../core/paging.ts';
import { fail, orNotFound } from '../../core/problem.ts';
import { stepRecord } from '../../data/tables/schema-steps.ts';
import { type LogDeps, readBuildLog } from '../deployments/deployment-logs.ts';
import { findDeployment, findReleaseDeployment } from '../deployments/deployment-record.ts';
import { findSourceChanges, findTableSteps } from '../deployments/reviews.ts';
import type { LogPage, LogQuery } from '../logs/log-lines.ts';
import { approvePromotion, rejectPromotion, withdrawPromotion } from '../static-sites/promotions.ts';
import { compareReleases, findRelease } from '../static-sites/releases.ts';
import { type SiteUrls, siteUrl } from '../static-sites/rules.ts';
import { approvePublication, rejectPublication, withdrawPublication } from './decisions.ts';
import { findReviewRow, listReviewRows, type ReviewRow, requestRecords } from './publications.ts';
import { findDeployed } from './requests.ts';
import { canSeeRequest, currentStatus, type Pin } from './rules.ts';

type Query = z.output<typeof shape.query>;
type ReviewRecord = z.output<typeof Review>;

export async function listReviews(ctx: TenantCtx, { app, ...query }: Query, urls: SiteUrls) {
  if (app === undefined) return listPage(ctx, query, urls);
  const found = await findAppOfTenant(ctx.db, ctx.tenant.id, { ref: app, userId: ctx.caller.userId });
  if (!found) throw fail('not_found', { detail: 'The app does not exist.' });
  return listPage(ctx, query, urls, found.id);
}

export function listAppReviews(ctx: AppCtx, query: Omit<Query, 'app'>, urls: SiteUrls) {
  return listPage(ctx, query, urls, ctx.app.id);
}

async function listPage(ctx: TenantCtx, query: Omit<Query, 'app'>, urls: SiteUrls, appId?: string) {
  const { kind, status, visibility } = query;
  const filter = { kinds: kind === undefined ? undefined : [kind], appId, status, visibility, now: ctx.now };
  const { rows, total } = await listReviewRows(ctx.db, ctx.tenant.id, filter, pageWindow(query));
  return toPage(query, await reviewRecords(ctx, rows, urls), total);
}

export async function getReview(ctx: TenantCtx, { id }: { id: string }, urls: SiteUrls) {
  const { row } = await findReview(ctx, id);
  const record = await reviewRecord(ctx, row, urls);
  return { ...record, diff: await reviewDiff(ctx.db, row, record.status) };
}

export async function readReviewLog(
  ctx: TenantCtx,
  { id, query }: { id: string; query: LogQuery },
  deps: LogDeps,
): Promise<LogPage> {
  const confirm = async () => {
    const { row, app } = await findReview(ctx, id);
    if (!ownsApp(app?.relation ?? 'none') && currentStatus(row, deps.now()) !== 'pending')
      throw fail('forbidden', { detail: 'The review is decided. Only owners can read the build log now.' });
    return row;
  };
  const row = await confirm();
  if (row.deployment_id === null)
    throw fail('not_found', { detail: 'The release was uploaded, not built: there is no build log.' });
  const log = { tenantId: row.tenant_id, appId: row.app_id, id: row.deployment_id, query };
  return readBuildLog(ctx.db, log, { ...deps, confirm });
}

interface Decided {
  id: string;
  urls: SiteUrls;
}

export async function approveReview(ctx: TenantMutationCtx, { id, urls, note }: Decided & { note: string }) {
  const { row, app } = await findReview(ctx, id);
  if (row.kind !== 'promotion') return changedRecord(ctx, await approvePublication(ctx, { id, note }), urls);
  if (ctx.tenant.role !== 'tenant_admin') throw fail('forbidden');
  if (isRepeated(ctx, row, 'approved')) return unchangedRecord(ctx, row, urls);
  const { release_id: release, digest } = requirePendingPromotion(row);
  await approvePromotion(promotionCtx(ctx, app), { id: release, note, digest }, urls);
  return changedRecord(ctx, { id }, urls);
}

export async function rejectReview(
  ctx: TenantMutationCtx,
  { id, urls, reason }: Decided & { reason: string },
) {
  const { row, app } = await findReview(ctx, id);
  if (row.kind !== 'promotion') return changedRecord(ctx, await rejectPublication(ctx, { id, reason }), urls);
  if (isRepeated(ctx, row, 'rejected')) return unchangedRecord(ctx, row, urls);
  const { release_id: release } = requirePendingPromotion(row);
  await rejectPromotion(promotionCtx(ctx, app), { id: release, reason });
  return changedRecord(ctx, { id }, urls);
}

export async function withdrawReview(ctx: TenantMutationCtx, { id, urls }: Decided) {
  const { row, app } = await findReview(ctx, id);
  if (row.kind !== 'promotion') return changedRecord(ctx, await withdrawPublication(ctx, { id }), urls);
  if (isRepeated(ctx, row, 'withdrawn')) return unchangedRecord(ctx, row, urls);
  const { release_id: release } = requirePendingPromotion(row);
  await withdrawPromotion(promotionCtx(ctx, app), { id: release });
  return changedRecord(ctx, { id }, urls);
}

async function findReview(ctx: TenantCtx, id: string) {
  const { db, tenant, caller } = ctx;
  const row = orNotFound(await findReviewRow(db, tenant.id, id));
  const app = await findAppOfTenant(db, tenant.id, { ref: row.app_id, userId: caller.userId });
  if (!canSeeRequest({ relation: app?.relation ?? 'none', role: tenant.role })) throw fail('not_found');
  return { row, app };
}

function isRepeated({ caller }: TenantCtx, row: ReviewRow, status: ReviewRow['status']): boolean {
  return row.status === status && row.decided_by === caller.userId;
}

function requirePendingPromotion(row: ReviewRow): { release_id: string; digest: string } {
  if (row.status !== 'pending' || row.release_id === null)
    throw fail('settled', { detail: `The request is ${row.status}.` });
  return { release_id: row.release_id, digest: row.digest };
}

/** The use cases of promotions lock the app and check the caller's right to it again. */
function promotionCtx(
  ctx: TenantMutationCtx,
  app: Awaited<ReturnType<typeof findReview>>['app'],
): AppMutationCtx {
  if (!app) throw fail('not_found');
  return { ...ctx, app };
}

async function unchangedRecord(ctx: TenantMutationCtx, row: ReviewRow, urls: SiteUrls) {
  const record = await reviewRecord(ctx, row, urls);
  ctx.audit({
    action: 'reviews.decide',
    appId: row.app_id,
    target: { kind: 'review', id: row.id, name: record.app_slug },
    before: {},
    after: {},
  });
  return { ...record, changed: false as const };
}

async function changedRecord(
  ctx: TenantMutationCtx,
  { id, changed }: { id: string; changed?: false | undefined },
  urls: SiteUrls,
) {
  const row = orNotFound(await findReviewRow(ctx.db, ctx.tenant.id, id));
  const record = await reviewRecord(ctx, row, urls);
  return changed === false ? { ...record, changed } : record;
}

async function reviewRecord(ctx: TenantCtx, row: ReviewRow, urls: SiteUrls): Promise<ReviewRecord> {
  const [record] = await reviewRecords(ctx, [row], urls);
  if (!record) throw new Error('The review has no record.');
  return record;
}

async function reviewRecords(ctx: TenantCtx, rows: readonly ReviewRow[], urls: SiteUrls) {
  const records = await requestRecords(ctx, ctx.tenant.id, rows);
  const found: ReviewRecord[] = [];
  for (const [at, row] of rows.entries()) {
    const record = records[at];
    if (record) found.push({ ...record, kind: row.kind, url: await reviewUrl(ctx, row, urls) });
  }
  return found;
}

async function reviewUrl(ctx: Ctx, row: ReviewRow, urls: SiteUrls): Promise<string | null> {
  if (currentStatus(row, ctx.now) !== 'pending') return null;
  const subdomain = (await findAppById(ctx, { id: row.app_id }))?.subdomain ?? null;
  if (row.pinned !== 'live') return siteUrl(urls, subdomain, 'staged');
  return subdomain === null ? null : appUrl(urls, subdomain);
}

type Diff = z.output<typeof ReviewDiff>;
type Version = NonNullable<Diff['after']>;
type Content = Pick<Pin, 'deployment_id' | 'release_id'>;

/** A decided review names only what was reviewed: what it was compared with may be gone. */
async function reviewDiff(db: Db, row: ReviewRow, status: ReviewRow['status']): Promise<Diff> {
  const ref = { tenantId: row.tenant_id, appId: row.app_id };
  const { people, groups } = await countInvited(db, ref);
  const live = status === 'pending' ? (await findDeployed(db, ref)).live : null;
  return {
    before: live && (await describeVersion(db, ref, live)),
    after: await describeVersion(db, ref, row),
    audience: {
      before: row.visibility_before,
      after: row.visibility,
      invited: people + groups,
    },
    files: status === 'pending' ? await compareFiles(db, ref, { after: row, before: live }) : null,
    tables: status === 'pending' ? await tableSteps(db, ref, row) : null,
  };
}

async function describeVersion(db: Db, ref: AppRef, content: Content): Promise<Version | null> {
  const release = content.release_id === null ? undefined : await findRelease(db, ref, content.release_id);
  const deployment =
    content.deployment_id === null ? undefined : await findDeployment(db, ref, content.deployment_id);
  const created = release ?? deployment;
  if (!created) return null;
  return {
    deployment_id: deployment?.id ?? null,
    deployment: deployment?.seq ?? null,
    release_id: release?.id ?? null,
    release: release?.number ?? null,
    version: release?.version ?? '',
    commit_sha: deployment?.commit_sha ?? null,
    commit_message: deployment?.commit_message ?? null,
    created_at: created.created_at.toISOString(),
  };
}

async function tableSteps(db: Db, ref: AppRef, content: Content): Promise<Diff['tables']> {
  const deployment =
    content.deployment_id === null
      ? content.release_id && (await findReleaseDeployment(db, ref, content.release_id))
      : await findDeployment(db, ref, content.deployment_id);
  const steps = deployment ? await findTableSteps(db, deployment) : null;
  return steps?.map(stepRecord) ?? null;
}

async function compareFiles(
  db: Db,
  ref: AppRef,
  { after, before }: { after: Content; before: Content | null },
): Promise<Diff['files']> {
  if (after.release_id !== null) {
    const pair = { release: after.release_id, against: before?.release_id ?? null, limit: reviewFilesMax };
    const { counts, items } = await compareReleases(db, ref, pair);
    return fileList(counts, items as Changes);
  }
  if (after.deployment_id === null) return null;
  const changes = await findSourceChanges(db, ref, {
    after: after.deployment_id,
    before: before?.deployment_id ?? null,
  });
  if (!changes) return null;
  const count = (kind: Changes[number]['change']) => changes.filter(({ change }) => change === kind).length;
  const counts = { added: count('added'), changed: count('changed'), removed: count('removed') };
  return fileList(counts, changes.slice(0, reviewFilesMax));
}

type Changes = NonNullable<Diff['files']>['items'];

function fileList(
  { added, changed, removed }: Record<'added' | 'changed' | 'removed', number>,
  items: Changes,
): NonNullable<Diff['files']> {
  return {
    added,
    changed,
    removed,
    items: items.map(({ path, change }) => ({ path, change })),
    truncated: added + changed + removed > items.length,
  };
}
