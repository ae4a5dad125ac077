import type { forkApp as shape } from '@svc/contract/bootstrap.shapes.ts';
import type { z } from 'zod';
import { findOrigin } from '../../apps/record/app-status.ts';
import { getApp } from '../../apps/record/apps.ts';
import type { TenantCtx, TenantMutationCtx } from '../../core/context.ts';
import { fail } from '../../core/problem.ts';
import { listTableDefinitions } from '../../data/tables/copy-tables.ts';
import type { RunMode } from '../../http/router.ts';
import { findConnection } from '../git-connections/connections.ts';
import { getSite } from '../static-sites/site.ts';
import { findTemplateSource, type TemplateInfo } from '../templates/template-source.ts';
import type { BootstrapDeps, RunInput, Seed } from './deps.ts';
import { canReadCode, checkHost, codeAccess, type ForkSource, findForkSource } from './host-checks.ts';
import { repoRequest, resolveSlug, startRun } from './start-run.ts';

type Input = z.output<typeof shape.body>;

export type PreparedFork = Awaited<ReturnType<typeof prepareFork>>;

/** Runs before the transaction, because it asks the git host. */
export async function prepareFork(ctx: TenantCtx, input: Input, deps: BootstrapDeps, mode: RunMode) {
  const source = await findForkSource(ctx, { ref: input.source });
  const code = await chooseSeed(ctx, { source, template: input.template, mode }, deps);
  const hostCheck = await checkHost(deps, ctx, { slug: resolveSlug(input), repo: repoRequest(input), mode });
  return { source, ...code, hostCheck };
}

/** Copies code, settings and table definitions; never rows, objects, variables, domains, members, grants or tokens. */
export async function forkApp(
  ctx: TenantMutationCtx,
  input: Input,
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

/** The requested template, the code of the source, or the template of the source. */
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

/** A preview does not ask the git host and assumes access. */
async function canReadSource(
  ctx: TenantCtx,
  source: ForkSource,
  deps: BootstrapDeps,
  mode: RunMode,
): Promise<boolean> {
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
