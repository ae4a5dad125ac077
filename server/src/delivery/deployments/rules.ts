import {
  deploymentLeaseSeconds,
  healthTimeoutSecondsDefault,
  retainedArtifactsMax,
  type scaleSources,
} from '@svc/contract/deployments.ts';
import { healthTimeoutMinutesMax } from '@svc/contract/manifest.ts';
import type { SiteConfig } from '@svc/contract/site-config.ts';
import type { AppRow } from '../../apps/record/find-app.ts';
import { isWider } from '../../apps/record/rules.ts';
import type { OperatorDeps } from '../../core/mutation.ts';
import { fail } from '../../core/problem.ts';
import { canonicalJson } from '../../core/values.ts';
import type { Artifact, DeployMethod, LogSink, Runtime } from '../../drivers/runtime/runtime.ts';
import type { Toolchains } from '../../drivers/toolchains/toolchains.ts';
import type { TenantRecord } from '../../people/tenants/rules.ts';
import type { SourcePlan } from '../detect/plan-source.ts';
import type { LogSinks } from '../logs/log-sink.ts';
import type { FolderRelease } from '../static-sites/deployment-releases.ts';
import type { DeploymentRow } from './store.ts';

/** Only a deployment of the kind `resume` may run in a suspended app. */
export function requireDeployable(
  { record, runtime }: Pick<AppRow, 'record' | 'runtime'>,
  kind: DeploymentRow['kind'] = 'deploy',
): void {
  if (record !== 'active')
    throw fail('app_not_active', { detail: 'The app is archived; reactivate it first.' });
  if (runtime === 'suspended' && kind !== 'resume') throw fail('app_suspended');
}

export function cancelOutcome({
  state,
  ended_at,
  cancel_asked,
}: Pick<DeploymentRow, 'state' | 'ended_at' | 'cancel_asked'>): 'ends' | 'requested' | 'same' | 'refused' {
  if (state === 'canceled') return 'same';
  if (state === 'queued') return 'ends';
  // One that ended as `built` needs a review.
  if (state === 'building' || (state === 'built' && ended_at === null))
    return cancel_asked ? 'same' : 'requested';
  return 'refused';
}

export function rollbackObstacle(
  row: Pick<DeploymentRow, 'state' | 'live_at' | 'is_kept'>,
): 'not_rollback_target' | 'artifact_expired' | null {
  if (row.state !== 'superseded' || row.live_at === null) return 'not_rollback_target';
  return row.is_kept ? null : 'artifact_expired';
}

export function isOvertaken(
  { seq, kind }: Pick<DeploymentRow, 'seq' | 'kind'>,
  live: Pick<DeploymentRow, 'seq'> | undefined,
): boolean {
  return kind !== 'rollback' && live !== undefined && seq < live.seq;
}

/** A build that was live, or was approved, at the same visibility needs no second review. */
export function needsReview(
  { method, reviewed_visibility: reviewed }: Pick<DeploymentRow, 'method' | 'reviewed_visibility'>,
  visibility: AppRow['visibility'],
  setting: TenantRecord['review_deployments'],
): boolean {
  // Sites have promotions.
  if (method === 'static' || setting === 'off' || visibility === 'private') return false;
  if (setting === 'internet' && visibility !== 'internet') return false;
  return reviewed === null || isWider(reviewed, visibility);
}

type ArtifactRow = Pick<
  DeploymentRow,
  'id' | 'seq' | 'state' | 'is_kept' | 'artifact' | 'release_id' | 'ended_at' | 'live_at'
>;

/** Keeps artifacts of live and open deployments, and the newest that were live or need a review. */
export function expiredArtifacts<R extends ArtifactRow>(rows: readonly R[]): R[] {
  const stored = rows.filter(({ is_kept }) => is_kept);
  const isInUse = ({ state, ended_at }: ArtifactRow) => state === 'live' || ended_at === null;
  const inUse = new Set(stored.filter(isInUse).map(artifactKey));
  const others = stored.filter((row) => !isInUse(row)).sort((one, other) => other.seq - one.seq);
  const isRollbackTarget = ({ state, live_at }: ArtifactRow) => live_at !== null || state === 'built';
  const newest = [...new Set(others.filter(isRollbackTarget).map(artifactKey))].filter(
    (key) => !inUse.has(key),
  );
  const retained = new Set([...inUse, ...newest.slice(0, retainedArtifactsMax)]);
  return others.filter((row) => !isRollbackTarget(row) || !retained.has(artifactKey(row)));
}

function artifactKey({ artifact, release_id }: ArtifactRow): string {
  return canonicalJson({ artifact, release_id });
}

export function isArtifactUsed(artifact: DeploymentRow['artifact'], rows: readonly ArtifactRow[]): boolean {
  return rows.some((row) => row.is_kept && Bun.deepEquals(row.artifact, artifact));
}

/** The timeout is limited here too: stored rows may be older than the limit. */
export function healthSettings({ start_with }: Pick<DeploymentRow, 'start_with'>) {
  const { path, timeoutMs } = start_with?.health ?? {
    path: null,
    timeoutMs: healthTimeoutSecondsDefault * 1_000,
  };
  return { path, timeoutMs: Math.min(timeoutMs, healthTimeoutMinutesMax * 60_000) };
}

export function releaseMsMax(row: Pick<DeploymentRow, 'start_with'>): number {
  return Math.min(healthSettings(row).timeoutMs + releaseMs.beside, releaseMs.max);
}
const releaseMs = { beside: 2 * 60_000, max: 15 * 60_000 };

interface ProcessScale {
  process: string;
  instances: number;
  set_by: (typeof scaleSources)[number];
}

/** How many instances of each process run, `web` first. `instances-store.ts` says the same in SQL. */
export function processScales(
  { method, start_with }: Pick<DeploymentRow, 'method' | 'start_with'>,
  scales: ReadonlyMap<string, number>,
): ProcessScale[] {
  if (method === 'static') return [];
  return Object.entries(start_with?.processes ?? { web: { instances: null } })
    .map(([process, { instances }]): ProcessScale => {
      const scaled = scales.get(process);
      if (scaled !== undefined) return { process, instances: scaled, set_by: 'scale' };
      return { process, instances: instances ?? 1, set_by: instances === null ? 'default' : 'manifest' };
    })
    .sort((one, other) => Number(other.process === 'web') - Number(one.process === 'web'));
}

/** A new svc.yaml that says how many instances run replaces what `svc apps scale` has set; an earlier build does not. */
export function replacedScales({ kind, start_with }: Pick<DeploymentRow, 'kind' | 'start_with'>): string[] {
  if (kind !== 'deploy') return [];
  return Object.entries(start_with?.processes ?? {})
    .filter(([, { instances }]) => instances !== null)
    .map(([process]) => process);
}

export interface InstanceSlot {
  process: string;
  index: number;
}

export function instanceSlots(scales: readonly ProcessScale[]): InstanceSlot[] {
  return scales.flatMap(({ process, instances }) =>
    Array.from({ length: instances }, (_, at) => ({ process, index: at + 1 })),
  );
}

/** Tenants that use half of the slots, so that the other half stays free for others. */
export function busyTenants(claims: readonly { tenantId: string }[], slots: number): string[] {
  if (slots < 2) return [];
  const counts = Map.groupBy(claims, ({ tenantId }) => tenantId);
  return [...counts].filter(([, own]) => own.length >= slots / 2).map(([tenantId]) => tenantId);
}

/** A deployment that a reviewer opens runs beside the live one, on the same rows and objects. */
export function isInReview({ state, ended_at }: Pick<DeploymentRow, 'state' | 'ended_at'>): boolean {
  return state === 'built' && ended_at !== null;
}

/** Each server process that dies during a deployment uses one. */
export const attemptsMax = 3;
export const leaseMs = deploymentLeaseSeconds * 1_000;
export const renewEveryMs = leaseMs / 3;
export const drainMsMax = 30_000;
/** Within this time every server process stops sending requests to a drained address. */
export const drainMsMin = 1_500;

/** Server processes write the time of the last request of an app this often. */
export const activityEveryMs = 60_000;

export const workTag = 'work:deployments';

export function deploymentName(slug: string, { seq }: Pick<DeploymentRow, 'seq'>): string {
  return `${slug} #${seq}`;
}

export function reviewNote({ seq, commit_message }: Pick<DeploymentRow, 'seq' | 'commit_message'>): string {
  return [`Deployment #${seq}`, commit_message].filter(Boolean).join(': ');
}

export interface DeploymentDeps extends OperatorDeps {
  runtime: Runtime;
  workDir: string;
  /** Builds use the CPU; waiting for a health check does not. */
  concurrencyMax: { builds: number; all: number };
  releaseMsMax?: (row: DeploymentRow) => number;
  logs: LogSinks;
  source: DeploymentSource;
  environment: DeploymentEnvironment;
  sites: DeploymentSites;
  /** Null: builds use what the machine or the image has. */
  toolchains: Toolchains | null;
  builds: BuildStore | null;
}

/** Builds in the object store that servers of several machines share, so that each can start every app. */
export interface BuildStore {
  /** Runs before the deployment continues: other machines can start what is live. */
  save(appId: string, artifact: Artifact, signal: AbortSignal): Promise<void>;
  fetch(row: DeploymentRow): Promise<void>;
  remove(appId: string, artifact: Artifact): Promise<void>;
  /** Deletes what no deployment uses here, and the least used beyond a limit: it can be fetched again. */
  trim(): Promise<void>;
}

export interface DeploymentSource {
  /** Writes into an empty folder. Throws `DeploymentFailure` if there is no source. */
  fetch(job: { row: DeploymentRow; into: string; log: LogSink; signal: AbortSignal }): Promise<FetchedSource>;
  plan(sourceDir: string, options: { method: DeployMethod }): Promise<SourcePlan>;
}

export type FetchedSource = Partial<Pick<DeploymentRow, 'repo' | 'ref' | 'commit_sha' | 'commit_message'>>;

export interface DeploymentEnvironment {
  snapshot(row: DeploymentRow): Promise<Buffer>;
  own(row: DeploymentRow): Promise<Record<string, string>>;
  platform(row: DeploymentRow, purpose: 'build' | 'run'): Promise<Record<string, string>>;
  /** The token with which an instance acts as the app until it ends. */
  identity(row: DeploymentRow, instanceId: string): Promise<Record<string, string>>;
  commandIdentity(
    row: DeploymentRow,
    command: { commandId: string; timeoutMs: number },
  ): Promise<Record<string, string>>;
  endCommandIdentity(appId: string, commandId: string): Promise<void>;
}

export interface DeploymentSites {
  /** Makes a release of a folder and activates it unless it needs a review. Repeatable for one deployment. */
  release(row: DeploymentRow, built: BuiltSite, signal: AbortSignal): Promise<FolderRelease>;
  reactivate(row: DeploymentRow, releaseId: string): Promise<FolderRelease>;
  submit(row: DeploymentRow, releaseId: string): Promise<'submitted' | 'overtaken'>;
}

export interface BuiltSite {
  dir: string;
  config: SiteConfig | null;
}
