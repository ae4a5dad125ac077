import type { createApp } from '@svc/contract/apps.shapes.ts';
import {
  bootstrapEndStates,
  type bootstrapFailureCodes,
  type bootstrapKinds,
  type bootstrapStates,
  type bootstrapStepStates,
  bootstrapSteps,
} from '@svc/contract/bootstrap.ts';
import type { setSite } from '@svc/contract/static-sites.shapes.ts';
import type { z } from 'zod';
import type { OperatorDeps } from '../../core/mutation.ts';
import type { TableDefinition } from '../../data/tables/copy-tables.ts';
import type { GitClient } from '../../drivers/git/git-client.ts';
import type { GitHost } from '../../drivers/git/git-host.ts';
import type { DeploymentStatus } from '../deployments/deployment-record.ts';

export type StepName = (typeof bootstrapSteps)[number];
export type StepState = (typeof bootstrapStepStates)[number];
export type RunState = (typeof bootstrapStates)[number];
export type RunKind = (typeof bootstrapKinds)[number];
export type FailureCode = (typeof bootstrapFailureCodes)[number];

export const leaseSeconds = 15;
export const failuresMax = 5;
/** Ends a run that crashes the server each time it is resumed. */
export const attemptsMax = 30;
export const firstBranch = 'main';
/** One check per second. Counted in checks, so that the downtime of a server does not count. */
export const hookChecksMax = 60;

export function nextStep(steps: readonly { name: StepName; state: StepState }[]): StepName | null {
  const done = new Set(steps.filter(({ state }) => state === 'done').map(({ name }) => name));
  return bootstrapSteps.find((name) => !done.has(name)) ?? null;
}

export function currentStep(state: RunState, steps: readonly { name: StepName; state: StepState }[]) {
  const failed = steps.find((step) => step.state === 'failed')?.name;
  if (failed) return failed;
  return state === 'done' || state === 'canceled' ? null : nextStep(steps);
}

export function isEnded(state: RunState): boolean {
  return (bootstrapEndStates as readonly RunState[]).includes(state);
}

export interface ClassifiedFailure {
  code: FailureCode;
  isTemporary: boolean;
  detail: string;
}

const failure_codes = new Map<string, FailureCode>(
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
const temporaryCodes = new Map<string, FailureCode>(
  Object.entries({
    git_host_unavailable: 'git_host_unavailable',
    unreachable: 'git_host_unavailable',
    unavailable: 'internal',
    query_timeout: 'internal',
  } as const),
);

/** `code` null: an internal error, which may be temporary too. */
export function classify(code: string | null, detail: string): ClassifiedFailure {
  const temporary = code === null ? 'internal' : temporaryCodes.get(code);
  if (temporary) return { code: temporary, isTemporary: true, detail };
  return { code: failure_codes.get(code ?? '') ?? 'internal', isTemporary: false, detail };
}

export function retryDelaySeconds(failures: number): number | null {
  return failures >= failuresMax ? null : 2 ** (failures - 1);
}

/** The description identifies the run that created a repository, for retries after a lost response. */
export function markedDescription(text: string, runId: string): string {
  return `${text} ${marker(runId)}`;
}

export function isMarked(description: string, runId: string): boolean {
  return description.trimEnd().endsWith(marker(runId));
}

const marker = (runId: string) => `(svc run ${runId})`;

type DeploymentOutcome =
  | { is: 'open' | 'done' }
  | { is: 'replaced' }
  | { is: 'failed'; code: FailureCode; detail: string };

export function followDeployment(deployment: Omit<DeploymentStatus, 'id' | 'seq'>): DeploymentOutcome {
  const { state, ended_at, failure_code, failure_detail } = deployment;
  switch (state) {
    case 'live':
    case 'superseded':
      return { is: 'done' };
    case 'built':
      // Ended as `built`: it needs a review.
      return { is: ended_at === null ? 'open' : 'done' };
    case 'skipped':
      return { is: 'replaced' };
    case 'canceled':
      return { is: 'failed', code: 'deploy_failed', detail: 'The deployment was canceled.' };
    case 'failed':
      return {
        is: 'failed',
        code:
          failure_code === 'build_failed' || failure_code === 'health_check_failed'
            ? failure_code
            : 'deploy_failed',
        detail: failure_detail || `The deployment failed: ${failure_code ?? 'unknown'}.`,
      };
    default:
      return { is: 'open' };
  }
}

/** Commands that delete what a failed or canceled run created. Nothing is deleted automatically. */
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
  // No svc command deletes a repository or prints the token of svc login.
  const hint = 'SVC_TOKEN is a login token; an operator issues one: svc-admin tokens issue --user <e-mail>';
  return `curl -X DELETE -H "Authorization: Bearer $SVC_TOKEN" ${apiUrl}/repos/${repo} # ${hint}`;
}

export interface BootstrapDeps extends OperatorDeps {
  gitHost: GitHost;
  git: GitClient;
  now: () => Date;
  baseUrl: string;
  appsDomain: string;
  dataDir: string;
  onCommitted?: (tag: string) => void;
}

export const workTag = 'work:bootstraps';

/** The complete request, stored with the run: later changes of the template or source do not affect it. */
export interface RunInput {
  slug: string;
  app: z.output<typeof createApp.body>;
  siteConfig: z.output<typeof setSite.body> | null;
  tables: readonly TableDefinition[];
  repo: RepoRequest;
  seed: Seed;
}

export interface RepoRequest {
  owner: string | null;
  name: string;
  isPrivate: boolean;
  installationId: number | null;
}

export type Seed =
  | { kind: 'template'; templateId: string }
  | { kind: 'copy'; tenantId: string; appId: string };
