import type { forkApp as forkShape, startBootstrap as shape } from '@svc/contract/bootstrap.shapes.ts';
import { approvalMinutesMax } from '@svc/contract/bootstrap.ts';
import type { GitDeviceCode } from '@svc/contract/git-host.shapes.ts';
import { slugFromName } from '@svc/contract/slug-from-name.ts';
import type { z } from 'zod';
import { conflictError, getApp } from '../../apps/record/apps.ts';
import { findOrigin } from '../../apps/record/status-store.ts';
import type { TenantCtx, TenantMutationCtx } from '../../core/context.ts';
import { Failure, fail, validationError } from '../../core/problem.ts';
import { sha256 } from '../../core/values.ts';
import { listTableDefinitions } from '../../data/tables/copy-tables.ts';
import type { RunMode } from '../../http/router.ts';
import { findConnection } from '../git-connections/connections.ts';
import { startGitLink } from '../git-connections/link-flow.ts';
import { getSite } from '../static-sites/site.ts';
import { findTemplateSource, type TemplateInfo } from '../templates/templates.ts';
import {
  canReadCode,
  checkHost,
  codeAccess,
  type ForkSource,
  findForkSource,
  type HostCheck,
} from './host-checks.ts';
import {
  type BootstrapDeps,
  firstBranch,
  type RepoRequest,
  type RunInput,
  type RunKind,
  type Seed,
  type StepName,
  workTag,
} from './rules.ts';
import { endRun, type RunRecord, runRecord } from './runs.ts';
import type { StepEnd } from './step.ts';
import { reserveAppFor } from './steps.ts';
import { findRun, insertRunRow, lockAwaitingRuns, updateStepRow } from './store.ts';

interface NewRun {
  kind: RunKind;
  input: RunInput;
  templateId: string | null;
  sourceAppId: string | null;
  from: string;
}

async function startRun(
  ctx: TenantMutationCtx,
  { kind, input, templateId, sourceAppId, from }: NewRun,
  { isLinked, grant }: HostCheck,
  deps: BootstrapDeps,
): Promise<RunRecord & { approval: Approval | null }> {
  const { id: tenantId } = ctx.tenant;
  await cancelOwnWaitingRun(ctx, input.slug);
  const approval = isLinked ? null : await startGitLink(ctx, deps, grant);
  const id = ctx.newId();
  const run = { id, tenant_id: tenantId, input, template_id: templateId, source_app_id: sourceAppId };
  const isInserted = await insertRunRow(ctx.db, {
    ...run,
    kind,
    state: isLinked ? 'running' : 'awaiting_approval',
    ...(isLinked ? {} : approvalFields(ctx.now, approval)),
    created_by: ctx.caller.userId,
    created_at: ctx.now,
  });
  if (!isInserted) throw conflictError('slug', input.slug);
  ctx.audit({
    action: kind === 'fork' ? 'apps.fork' : 'bootstraps.start',
    target: { kind: 'bootstrap_run', id, name: input.slug },
    before: null,
    after: {
      from,
      app: input.slug,
      repository: `${ownerPrefix(ctx, input, deps)}${input.repo.name}`,
      repository_private: input.repo.isPrivate,
      connection: firstBranch,
      deployment: 'the first',
      ...(input.tables.length > 0 ? { tables: input.tables.map(({ name }) => name) } : {}),
      ...(isLinked ? {} : { waits_for: 'your account at the git host' }),
    },
  });
  // Also for executions: the plan must be the same for both.
  ctx.warn('The git host checks whether the repository can be created when the run starts.');
  if (isLinked) {
    const detail = deps.gitHost.isBuiltIn ? 'The git host is built in.' : 'Your account is linked.';
    await finishStep(ctx, id, 'authorize', { state: 'done', output: {}, detail });
    await finishStep(ctx, id, 'reserve_app', await reserveAppFor(ctx, run, deps));
    ctx.invalidate(workTag);
  }
  const created = await findRun(ctx.db, tenantId, id);
  if (!created) throw new Error('The new run does not exist.');
  return { ...(await runRecord(ctx.db, created, deps)), approval };
}

type Approval = z.output<typeof GitDeviceCode>;

function approvalFields(now: Date, approval: Approval | null) {
  const latest = new Date(now.getTime() + approvalMinutesMax * 60_000);
  const expires = approval ? new Date(approval.expires_at) : latest;
  return {
    device_code_hash: approval ? sha256(approval.device_code) : null,
    approval_until: expires < latest ? expires : latest,
  };
}

async function cancelOwnWaitingRun(ctx: TenantMutationCtx, slug: string): Promise<void> {
  for (const run of await lockAwaitingRuns(ctx.db, ctx.tenant.id, ctx.caller.userId))
    if (run.slug === slug) await endRun(ctx, run, { state: 'canceled' });
}

function ownerPrefix(ctx: TenantMutationCtx, { repo }: RunInput, { gitHost }: BootstrapDeps): string {
  const owner = repo.owner ?? (gitHost.isBuiltIn && repo.installationId === null ? ctx.tenant.slug : null);
  return owner === null ? '' : `${owner}/`;
}

async function finishStep(ctx: TenantMutationCtx, runId: string, name: StepName, end: StepEnd) {
  const { state, output, detail } = end;
  const times = { started_at: ctx.now, ended_at: ctx.now };
  await updateStepRow(ctx.db, runId, name, { state, output, detail, attempts: 1, ...times });
}

type Input = z.output<typeof shape.body>;

export type PreparedBootstrap = Awaited<ReturnType<typeof prepareBootstrap>>;

/** Runs before the transaction, because it asks the git host. */
export async function prepareBootstrap(ctx: TenantCtx, input: Input, deps: BootstrapDeps, mode: RunMode) {
  const template = await findTemplateSource(deps, { tenantId: ctx.tenant.id, template: input.template });
  return {
    template,
    hostCheck: await checkHost(deps, ctx, { slug: resolveSlug(input), repo: repoRequest(input), mode }),
  };
}

export function startBootstrap(
  ctx: TenantMutationCtx,
  input: Input,
  { template, hostCheck }: PreparedBootstrap,
  deps: BootstrapDeps,
) {
  const slug = resolveSlug(input);
  return startRun(
    ctx,
    {
      kind: 'bootstrap',
      input: {
        slug,
        app: {
          slug,
          name: input.name ?? slug,
          deploy_method: template.deployMethod,
          ...(input.subdomain === undefined ? {} : { subdomain: input.subdomain }),
        },
        siteConfig: null,
        tables: template.tables,
        repo: repoRequest(input),
        seed: { kind: 'template', templateId: template.id },
      },
      templateId: template.id,
      sourceAppId: null,
      from: `template ${template.name}`,
    },
    hostCheck,
    deps,
  );
}

function resolveSlug({ slug, name }: Pick<Input, 'slug' | 'name'>): string {
  const found = slug ?? slugFromName(name ?? '');
  if (!found) throw validationError('slug', 'is missing');
  return found;
}

function repoRequest(
  input: Pick<Input, 'git_host_owner' | 'installation_id' | 'repo_name' | 'repo_private' | 'slug' | 'name'>,
): RepoRequest {
  return {
    owner: input.git_host_owner ?? null,
    name: input.repo_name ?? resolveSlug(input),
    isPrivate: input.repo_private,
    installationId: input.installation_id ?? null,
  };
}

/** The failure of an early check is thrown after the idempotency check: a repeated request would conflict with itself. */
export type Deferred<T> = { value: T } | { failure: Failure };

export async function deferFailure<T>(check: Promise<T>): Promise<Deferred<T>> {
  try {
    return { value: await check };
  } catch (error) {
    if (error instanceof Failure) return { failure: error };
    throw error;
  }
}

export function unwrapDeferred<T>(deferred: Deferred<T>): T {
  if ('failure' in deferred) throw deferred.failure;
  return deferred.value;
}

type ForkInput = z.output<typeof forkShape.body>;

export type PreparedFork = Awaited<ReturnType<typeof prepareFork>>;

/** Runs before the transaction, because it asks the git host. */
export async function prepareFork(ctx: TenantCtx, input: ForkInput, deps: BootstrapDeps, mode: RunMode) {
  const source = await findForkSource(ctx, { ref: input.source });
  const code = await chooseSeed(ctx, { source, template: input.template, mode }, deps);
  const hostCheck = await checkHost(deps, ctx, { slug: resolveSlug(input), repo: repoRequest(input), mode });
  return { source, ...code, hostCheck };
}

/** Copies code, settings and table definitions; never rows, objects, variables, domains, members, grants or tokens. */
export async function forkApp(
  ctx: TenantMutationCtx,
  input: ForkInput,
  { source, seed, template, hostCheck }: PreparedFork,
  deps: BootstrapDeps,
) {
  const slug = resolveSlug(input);
  const app = await copySettings(ctx, source, template);
  const { config } = await getSite({ ...ctx, ...source }, deps);
  return startRun(
    ctx,
    {
      kind: 'fork',
      input: {
        slug,
        app: {
          ...app,
          slug,
          name: input.name ?? app.name,
          ...(input.subdomain === undefined ? {} : { subdomain: input.subdomain }),
        },
        siteConfig: Object.keys(config).length === 0 ? null : config,
        tables: template?.tables ?? (await listSourceTables(ctx, source)),
        repo: repoRequest(input),
        seed,
      },
      templateId: template?.id ?? (await findTemplateId(ctx, source)),
      sourceAppId: source.app.id,
      from: seed.kind === 'copy' ? `app ${source.app.slug}` : `app ${source.app.slug}, by its template`,
    },
    hostCheck,
    deps,
  );
}

async function chooseSeed(
  ctx: TenantCtx,
  { source, template, mode }: { source: ForkSource; template: string | undefined; mode: RunMode },
  deps: BootstrapDeps,
): Promise<{ seed: Seed; template: TemplateInfo | null }> {
  const { tenant, app } = source;
  if (template === undefined) {
    if (await canReadSource(ctx, source, deps, mode))
      return { seed: { kind: 'copy', tenantId: tenant.id, appId: app.id }, template: null };
  }
  const templateRef = template ?? (await findTemplateId(ctx, source));
  if (templateRef === null) throw fail('code_not_readable');
  const found = await findTemplateSource(deps, { tenantId: ctx.tenant.id, template: templateRef }).catch(
    (error) => {
      // The source's template may belong to another tenant.
      throw template === undefined ? fail('code_not_readable', {}, { cause: error }) : error;
    },
  );
  return { seed: { kind: 'template', templateId: found.id }, template: found };
}

async function canReadSource(ctx: TenantCtx, source: ForkSource, deps: BootstrapDeps, mode: RunMode) {
  if (mode === 'execute')
    return canReadCode(deps, source, { userId: ctx.caller.userId, tenantId: ctx.tenant.id });
  const connection = await findConnection(ctx.db, { tenantId: source.tenant.id, appId: source.app.id });
  return codeAccess(source, connection, deps.gitHost) !== 'closed';
}

/** Empty unless the caller owns the source: reading the code does not include its tables. */
async function listSourceTables(ctx: Pick<TenantCtx, 'db'>, { tenant, app }: ForkSource) {
  if (app.relation !== 'owner' && app.relation !== 'co_owner') return [];
  return listTableDefinitions(ctx.db, { tenantId: tenant.id, appId: app.id });
}

async function findTemplateId(ctx: Pick<TenantCtx, 'db'>, { tenant, app }: ForkSource) {
  return (await findOrigin(ctx.db, { tenantId: tenant.id, appId: app.id })).templateId;
}

async function copySettings(
  ctx: TenantMutationCtx,
  source: ForkSource,
  template: TemplateInfo | null,
): Promise<RunInput['app']> {
  const app = await getApp({ ...ctx, ...source });
  const isSameTenant = source.tenant.id === ctx.tenant.id;
  return {
    name: app.name,
    summary: app.summary,
    description: app.description,
    category: isSameTenant ? app.category_id : null,
    auth_mode: app.auth_mode,
    data_scopes: app.data_scopes,
    deploy_method: template?.deployMethod ?? app.deploy_method,
    resource_preset: app.resource_preset,
  };
}
