import { connectRepository } from '../../git-connections/connect-repository.ts';
import { connectionOf } from '../../git-connections/connection-of.ts';
import { prepareConnection } from '../../git-connections/prepare-connection.ts';
import { Failure } from '../../plumbing/problem.ts';
import { madeRepo, outputOf } from '../outputs.ts';
import { firstBranch, hookLooksMax } from '../rules.ts';
import { StepRefused } from '../step-refused.ts';
import type { Step, StepEnd, StepWork } from '../step-work.ts';

const lookAgainSeconds = 1;

/** Connected with the step that says so; then the hook, which an effect makes, is waited for. */
export const connect: Step = async (work) => {
  const { parts, run } = work;
  const { app_id: appId, tenant_id: tenantId } = run;
  if (appId === null) throw new StepRefused('app_not_active', 'The app is not there any more.');
  const { isConnected, looks = 0 } = outputOf<Connected>(run, 'connect');
  if (isConnected) return lookAtHook(work, { appId, looks: looks + 1 });
  const { owner, name, installationId } = madeRepo(run);
  const who = { tenantId, userId: run.created_by };
  const wanted = { repo: `${owner}/${name}`, branch: firstBranch, installationId };
  const prepared = await prepareConnection(parts, who, wanted).catch((error: unknown) => {
    // Of the repository, not of the app.
    if (error instanceof Failure && error.code === 'not_found')
      throw new StepRefused('hook_failed', error.detail ?? 'The repository is not there any more.');
    throw error;
  });
  return async (ctx) => {
    await connectRepository(ctx, { tenantId, appId, connectedBy: run.created_by, prepared });
    return waiting({ looks: 0 });
  };
};

interface Connected {
  isConnected: true;
  /** How often it was looked whether the hook is there. */
  looks: number;
}

const waiting = ({ looks }: { looks: number }): StepEnd => ({
  state: 'running',
  output: { isConnected: true, looks },
  detail: 'Connected; the git host is told where to tell of pushes.',
  againAfterSeconds: lookAgainSeconds,
});

async function lookAtHook(
  { parts, run }: StepWork,
  { appId, looks }: { appId: string; looks: number },
): Promise<() => Promise<StepEnd>> {
  const hook = (await connectionOf(parts.db, { tenantId: run.tenant_id, appId }))?.hook;
  if (!hook) throw new StepRefused('hook_failed', 'The repository was disconnected.');
  if (hook.state === 'ok') {
    const output = { isConnected: true, looks, hookId: hook.id };
    return async () => ({ state: 'done', output, detail: `A push to ${firstBranch} deploys the app.` });
  }
  // One that failed is tried again by itself for a while.
  if (looks >= hookLooksMax)
    throw new StepRefused('hook_failed', hook.detail || 'The git host made no hook.');
  return async () => waiting({ looks });
}
