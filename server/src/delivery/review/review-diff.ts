import type { ReviewDiff } from '@svc/contract/review.shapes.ts';
import { reviewFilesMax } from '@svc/contract/review.ts';
import type { z } from 'zod';
import { countInvited } from '../../apps/record/people.ts';
import type { AppRef } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { stepRecord } from '../../data/tables/schema-steps.ts';
import { findDeployment, findReleaseDeployment } from '../deployments/live-deployment.ts';
import { findSourceChanges, findTableSteps } from '../deployments/reviews.ts';
import { compareReleases, findRelease } from '../static-sites/releases.ts';
import { findDeployed } from './live-state.ts';
import type { Pin } from './rules.ts';
import type { ReviewRow } from './store.ts';

type Diff = z.output<typeof ReviewDiff>;
type Version = NonNullable<Diff['after']>;
type Content = Pick<Pin, 'deployment_id' | 'release_id'>;

/** A decided review names only what was reviewed: what it was compared with may be gone. */
export async function reviewDiff(db: Db, row: ReviewRow, status: ReviewRow['status']): Promise<Diff> {
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
    const against = before?.release_id ?? null;
    const pair = { release: after.release_id, against, limit: reviewFilesMax };
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
