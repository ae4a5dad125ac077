import { howItStands, newestDeployment, type Standing } from '../../deployments/how-it-stands.ts';
import { queueDeployment } from '../../deployments/queue-deployment.ts';
import type { Db } from '../../plumbing/db.ts';
import { deploymentIdOf, madeRepo } from '../outputs.ts';
import { firstBranch, followDeployment } from '../rules.ts';
import { StepRefused } from '../step-refused.ts';
import type { Step, StepEnd } from '../step-work.ts';

const lookAgainSeconds = 1;

/** The deployment is in line with the step that knows it, or neither is; then it is waited for. */
export const firstDeploy: Step = async ({ parts, run }) => {
  const { tenant_id: tenantId, app_id: appId } = run;
  if (appId === null) throw new StepRefused('app_not_active', 'The app is not there any more.');
  const place = { tenantId, appId };
  const known = deploymentIdOf(run);
  if (known === null) {
    const { owner, name } = madeRepo(run);
    const what = { trigger: 'bootstrap', source: 'repository', ref: firstBranch } as const;
    return async (ctx) =>
      waiting(
        await queueDeployment(ctx, {
          ...place,
          ...what,
          repo: `${owner}/${name}`,
          createdBy: run.created_by,
        }),
      );
  }
  const standing = await followed(parts.db, place, known);
  const { is, ...failure } = followDeployment({
    state: standing.state,
    hasEnded: standing.ended_at !== null,
    failureCode: standing.failure_code,
    failureDetail: standing.failure_detail,
  });
  if ('code' in failure) throw new StepRefused(failure.code, failure.detail);
  return async () => (is === 'done' ? done(standing) : waiting(standing));
};

/** One that was passed over for a newer one, by a push for example: that one counts. */
async function followed(db: Db, place: { tenantId: string; appId: string }, id: string): Promise<Standing> {
  const own = await howItStands(db, place, id);
  const standing = own?.state === 'skipped' ? await newestDeployment(db, place) : own;
  if (!standing) throw new StepRefused('deploy_failed', 'The deployment is not there any more.');
  return standing;
}

function waiting({ id, seq }: Pick<Standing, 'id' | 'seq'>): StepEnd {
  const detail = `Deployment #${seq} is under way.`;
  return {
    state: 'running',
    output: { deploymentId: id },
    detail,
    againAfterSeconds: lookAgainSeconds,
  };
}

function done({ id, seq, state }: Standing): StepEnd {
  const detail =
    state === 'built' ? `Deployment #${seq} waits for its review.` : `Deployment #${seq} is live.`;
  return { state: 'done', output: { deploymentId: id }, detail };
}
