import type {
  bootstrapFailureCodes,
  bootstrapKinds,
  bootstrapStates,
  bootstrapStepStates,
} from '@svc/contract/bootstrap.ts';
import { bootstrapEndStates, bootstrapSteps } from '@svc/contract/bootstrap.ts';

export type StepName = (typeof bootstrapSteps)[number];
export type StepState = (typeof bootstrapStepStates)[number];
export type RunState = (typeof bootstrapStates)[number];
export type RunKind = (typeof bootstrapKinds)[number];
export type FailureCode = (typeof bootstrapFailureCodes)[number];

/** Another copy takes a run over when the one that works on it has been silent so long. */
export const leaseSeconds = 15;
/** So often may a step meet something that passes, such as a git host that does not answer. */
export const failuresMax = 5;
/** A run that ends the server each time it is gone on with must end too. */
export const attemptsMax = 30;
/** The branch that an app begins with. */
export const firstBranch = 'main';
/**
 * So often is it looked, a second apart, whether the git host has made the hook. Looks and not seconds: a server that is
 * away has not waited.
 */
export const hookLooksMax = 60;

/** The first that is not done; null: all are. */
export function nextStep(steps: readonly { name: StepName; state: StepState }[]): StepName | null {
  const done = new Set(steps.filter(({ state }) => state === 'done').map(({ name }) => name));
  return bootstrapSteps.find((name) => !done.has(name)) ?? null;
}

/** What a run shows as its step: what is under way, what failed, or what is next. */
export function shownStep(
  state: RunState,
  steps: readonly { name: StepName; state: StepState }[],
): StepName | null {
  const failed = steps.find((step) => step.state === 'failed')?.name;
  if (failed) return failed;
  return state === 'done' || state === 'canceled' ? null : nextStep(steps);
}

export function isEnded(state: RunState): boolean {
  return (bootstrapEndStates as readonly RunState[]).includes(state);
}

/** What is wrong, and whether it may pass by itself. */
export interface Judged {
  code: FailureCode;
  isPassing: boolean;
  detail: string;
}

/** Codes of refusals as they are met on the way, and what they mean for a run; others are faults of ours. */
const meanings = new Map<string, FailureCode>(
  Object.entries({
    slug_taken: 'slug_taken',
    subdomain_taken: 'subdomain_taken',
    resource_tier_exceeded: 'resource_tier_exceeded',
    repo_exists: 'repo_exists',
    forbidden_by_org: 'forbidden_by_org',
    installation_missing: 'installation_missing',
    installation_mismatch: 'installation_missing',
    git_account_required: 'not_permitted',
    code_not_readable: 'not_permitted',
    forbidden: 'not_permitted',
    not_permitted: 'not_permitted',
    push_rejected: 'push_rejected',
    hook_failed: 'hook_failed',
    already_connected: 'hook_failed',
    template_unavailable: 'template_unavailable',
    app_not_active: 'app_not_active',
    app_suspended: 'app_not_active',
    not_found: 'app_not_active',
    build_failed: 'build_failed',
    health_check_failed: 'health_check_failed',
    deploy_failed: 'deploy_failed',
    no_source: 'deploy_failed',
    runtime_unsupported: 'deploy_failed',
  } as const),
);
const passing = new Map<string, FailureCode>(
  Object.entries({
    git_host_unavailable: 'git_host_unavailable',
    unreachable: 'git_host_unavailable',
    unavailable: 'internal',
    query_timeout: 'internal',
  } as const),
);

/** By the code of a refusal; null for what is no refusal but a fault, which may pass too. */
export function judge(code: string | null, detail: string): Judged {
  const passes = code === null ? 'internal' : passing.get(code);
  if (passes) return { code: passes, isPassing: true, detail };
  return { code: meanings.get(code ?? '') ?? 'internal', isPassing: false, detail };
}

/** Seconds before the next try: 1, 2, 4, 8; null: it was the last. */
export function backOffSeconds(failures: number): number | null {
  return failures >= failuresMax ? null : 2 ** (failures - 1);
}

/** The repository says by itself which run made it; one that does not is somebody else's. */
export function markedDescription(text: string, runId: string): string {
  return `${text} ${marker(runId)}`;
}

export function isMarked(description: string, runId: string): boolean {
  return description.trimEnd().endsWith(marker(runId));
}

const marker = (runId: string) => `(svc run ${runId})`;

/** How a deployment stands, for the run that waits for it. */
export type Followed =
  | { is: 'open' | 'done' }
  /** A newer one came before it: that one counts. */
  | { is: 'replaced' }
  | { is: 'failed'; code: FailureCode; detail: string };

export function followDeployment(deployment: {
  state: string;
  hasEnded: boolean;
  failureCode: string | null;
  failureDetail: string | null;
}): Followed {
  const { state, failureCode, failureDetail } = deployment;
  switch (state) {
    case 'live':
    case 'superseded':
      return { is: 'done' };
    case 'built':
      // It waits for a review and for nothing else.
      return { is: deployment.hasEnded ? 'done' : 'open' };
    case 'skipped':
      return { is: 'replaced' };
    case 'canceled':
      return { is: 'failed', code: 'deploy_failed', detail: 'The deployment was canceled.' };
    case 'failed':
      return {
        is: 'failed',
        code:
          failureCode === 'build_failed' || failureCode === 'health_check_failed'
            ? failureCode
            : 'deploy_failed',
        detail: failureDetail || `The deployment failed: ${failureCode ?? 'unknown'}.`,
      };
    default:
      return { is: 'open' };
  }
}

/** What would remove what a run made that did not end well. Nothing is removed by itself. */
export function undoCommands(
  run: { state: RunState },
  made: { app: { slug: string; tenant: string } | null; repo: string | null },
  host: { isBuiltIn: boolean; apiUrl: string },
): string[] {
  if (run.state !== 'failed' && run.state !== 'canceled') return [];
  const { app, repo } = made;
  return [
    ...(app ? [`svc apps delete ${app.slug} --tenant ${app.tenant} --execute`] : []),
    ...(repo === null ? [] : [host.isBuiltIn ? removeBuiltIn(host.apiUrl, repo) : `gh repo delete ${repo}`]),
  ];
}

function removeBuiltIn(apiUrl: string, repo: string): string {
  // No command of svc removes a repository, and none tells the token that svc login keeps.
  const whence = 'SVC_TOKEN is a login token; an operator issues one: svc-admin tokens issue --user <e-mail>';
  return `curl -X DELETE -H "Authorization: Bearer $SVC_TOKEN" ${apiUrl}/repos/${repo} # ${whence}`;
}
