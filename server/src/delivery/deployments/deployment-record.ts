import { address } from '@svc/contract/client.ts';
import type { Deployment } from '@svc/contract/deployments.shapes.ts';
import { readBuildLog } from '@svc/contract/deployments.ts';
import { resourcesOf } from '@svc/contract/resource-presets.ts';
import { sql } from 'kysely';
import { z } from 'zod';
import type { AppRow } from '../../apps/record/find-app.ts';
import { assignRuntimeNumber } from '../../apps/record/status-store.ts';
import type { AppRef } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { declareSealingKey } from '../../core/keys.ts';
import { seal, sealingKey, unseal } from '../../core/seal.ts';
import { type SiteUrls, siteUrl } from '../static-sites/rules.ts';
import {
  type DeploymentReview,
  type DeploymentRow,
  findDeploymentOfRelease,
  findDeploymentRow,
  findLiveDeploymentRow,
  findQueuePositions,
  findReviews,
  listDeploymentRows,
} from './store.ts';

export type DeploymentRecord = z.output<typeof Deployment>;

interface RecordOf {
  subdomain: string | null;
  urls: SiteUrls;
}

export async function deploymentRecord(db: Db, row: DeploymentRow, of: RecordOf): Promise<DeploymentRecord> {
  const [record] = await deploymentRecords(db, [row], of);
  return record as DeploymentRecord;
}

export async function deploymentRecords(
  db: Db,
  rows: readonly DeploymentRow[],
  of: RecordOf,
): Promise<DeploymentRecord[]> {
  const positions = await findQueuePositions(db, rows);
  const reviews = await findReviews(db, rows);
  return rows.map((row) =>
    toRecord(row, { ...of, position: positions.get(row.id), review: reviews.get(row.id) }),
  );
}

function toRecord(
  row: DeploymentRow,
  {
    subdomain,
    urls,
    position,
    review,
  }: RecordOf & { position: number | undefined; review: DeploymentReview | undefined },
): DeploymentRecord {
  const { failure_code: code, failure_step: step, failure_detail: detail } = row;
  return {
    id: row.id,
    app_id: row.app_id,
    seq: row.seq,
    kind: row.kind,
    trigger: row.trigger,
    state: row.state,
    queue_position: position ?? null,
    step: row.step,
    method: row.method,
    source: row.source,
    repo: row.repo,
    ref: row.ref,
    commit: row.commit_sha,
    commit_message: row.commit_message,
    digest: row.digest,
    rollback_of: row.rollback_of,
    release_id: row.release_id,
    failure: code && step ? { code, step, detail: detail ?? '', log_url: logUrl(row, urls) } : null,
    review: review ?? null,
    kept: row.is_kept,
    url: siteUrl(urls, subdomain, 'active'),
    created_by: row.created_by,
    created_at: row.created_at.toISOString(),
    started_at: toIso(row.started_at),
    built_at: toIso(row.built_at),
    live_at: toIso(row.live_at),
    ended_at: toIso(row.ended_at),
  };
}

function logUrl({ tenant_id, app_id, id }: DeploymentRow, { baseUrl }: SiteUrls): string {
  const params = { tenantID: tenant_id, app: app_id, deployment: id };
  return `${baseUrl}${address(readBuildLog, { params })}`;
}

function toIso(time: Date | null): string | null {
  return time?.toISOString() ?? null;
}

export type DeploymentStatus = Pick<
  DeploymentRow,
  'id' | 'seq' | 'state' | 'failure_code' | 'failure_detail' | 'ended_at'
>;

export function deploymentStatus(db: Db, appRef: AppRef, id: string): Promise<DeploymentStatus | undefined> {
  return findDeploymentRow(db, appRef, id);
}

export async function newestDeploymentStatus(db: Db, appRef: AppRef): Promise<DeploymentStatus | undefined> {
  const { rows } = await listDeploymentRows(db, appRef, { window: { limit: 1, offset: 0 } });
  return rows[0];
}

export async function loadDeployedApp(db: Db, { tenantId, appId }: AppRef) {
  const { rows } = await sql<
    Pick<AppRow, 'slug' | 'deploy_method'> & { number: number | null; tier: AppRow['resource_preset'] }
  >`
    select slug, deploy_method, runtime_number as number, resource_preset as tier from svc.apps
    where tenant_id = ${tenantId} and id = ${appId}`.execute(db);
  const row = rows[0];
  if (!row) throw new Error('The app of a deployment does not exist.');
  const { cpu, memory_mb: memoryMb, disk_mb: diskMb } = resourcesOf[row.tier];
  const number = row.number ?? (await assignRuntimeNumber(db, { tenantId, appId }));
  return { slug: row.slug, method: row.deploy_method, number, limits: { cpu, memoryMb, diskMb } };
}

/** For other slices, which must not import the store. */
export const findLiveDeployment: typeof findLiveDeploymentRow = findLiveDeploymentRow;
export const findReleaseDeployment: typeof findDeploymentOfRelease = findDeploymentOfRelease;
export const findDeployment: typeof findDeploymentRow = findDeploymentRow;

export async function findLiveProcess(
  db: Db,
  appRef: AppRef,
): Promise<Pick<DeploymentRow, 'method'> | undefined> {
  const live = await findLiveDeploymentRow(db, appRef);
  return live?.method === 'static' ? undefined : live;
}

export const deploymentEnvKey = declareSealingKey({
  name: 'deployments.env_sealing_key',
  protects: 'Environment variables stored with deployments',
  columns: { 'deployments.env_sealed': 'id::text' },
});
const Env = z.record(z.string(), z.string());

/** Stored with the deployment: a rollback to it uses the same variables. */
export async function sealEnv(
  db: Db,
  { deploymentId, env }: { deploymentId: string; env: Readonly<Record<string, string>> },
): Promise<Buffer> {
  return seal(await sealingKey(db, deploymentEnvKey), { text: JSON.stringify(env), boundTo: deploymentId });
}

export async function openEnv(db: Db, { deploymentId, sealed }: { deploymentId: string; sealed: Buffer }) {
  return Env.parse(
    JSON.parse(unseal(await sealingKey(db, deploymentEnvKey), { sealed, boundTo: deploymentId })),
  );
}
