import type { forkApp as shape } from '@svc/contract/bootstrap.shapes.ts';
import type { z } from 'zod';
import { getApp } from '../apps/get-app.ts';
import { originOf } from '../apps/note-origin.ts';
import { connectionOf } from '../git-connections/connection-of.ts';
import type { TenantCtx, TenantMutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { getSite } from '../static-sites/get-site.ts';
import { type TableDefinition, tableDefinitions } from '../tables/table-definitions.ts';
import { type TemplateFacts, templateSource } from '../templates/template-source.ts';
import { askHostFirst, type HostAsked } from './ask-host-first.ts';
import type { BootstrapParts } from './bootstrap-parts.ts';
import { codeReach } from './code-reach.ts';
import { findSource, type Source } from './find-source.ts';
import { mayReadCode } from './may-read-code.ts';
import type { RunInput, Seed } from './run-input.ts';
import { slugOf, wantedRepo } from './start-bootstrap.ts';
import { startRun } from './start-run.ts';

type Input = z.output<typeof shape.body>;

export interface PreparedFork {
  source: Source;
  seed: Seed;
  template: TemplateFacts | null;
  asked: HostAsked;
}

/** Before the change: the source as the caller sees it, where its code comes from, and what the git host says. */
export async function prepareFork(
  ctx: TenantCtx,
  input: Input,
  parts: BootstrapParts,
  mode: 'preview' | 'execute',
): Promise<PreparedFork> {
  const source = await findSource(ctx, { ref: input.source });
  const code = await codeFor(ctx, { source, template: input.template, mode }, parts);
  const asked = await askHostFirst(parts, ctx, { slug: slugOf(input), wanted: wantedRepo(input), mode });
  return { source, ...code, asked };
}

/** Code, settings and how its tables are made; never rows, objects, variables, domains, members, grants or tokens. */
export async function forkApp(
  ctx: TenantMutationCtx,
  input: Input,
  { source, seed, template, asked }: PreparedFork,
  parts: BootstrapParts,
) {
  const slug = slugOf(input);
  const app = await settingsOf(ctx, source, template);
  const { config } = await getSite({ ...ctx, ...source }, parts);
  const { subdomain } = input;
  return startRun(
    ctx,
    {
      kind: 'fork',
      input: {
        slug,
        app: {
          ...app,
          slug,
          ...(input.name === undefined ? {} : { name: input.name }),
          ...(subdomain === undefined ? {} : { subdomain }),
        },
        siteConfig: Object.keys(config).length === 0 ? null : config,
        tables: template?.tables ?? (await tablesOf(ctx, source)),
        repo: wantedRepo(input),
        seed,
      },
      templateId: template?.id ?? (await templateOf(ctx, source)),
      sourceAppId: source.app.id,
      from: seed.kind === 'copy' ? `app ${source.app.slug}` : `app ${source.app.slug}, by its template`,
    },
    asked,
    parts,
  );
}

/** The template that was asked for, the source's own code, or the template that the source was made from. */
async function codeFor(
  ctx: TenantCtx,
  { source, template, mode }: { source: Source; template: string | undefined; mode: 'preview' | 'execute' },
  parts: BootstrapParts,
): Promise<{ seed: Seed; template: TemplateFacts | null }> {
  const { tenant, app } = source;
  if (template === undefined) {
    if (await readsCode(ctx, source, parts, mode))
      return { seed: { kind: 'copy', tenantId: tenant.id, appId: app.id }, template: null };
  }
  const wanted = template ?? (await templateOf(ctx, source));
  if (wanted === null) throw fail('code_not_readable');
  const found = await templateSource(parts, { tenantId: ctx.tenant.id, template: wanted }).catch((error) => {
    // One of another tenant is not there in this one: then there is no code to begin from.
    throw template === undefined ? fail('code_not_readable', {}, { cause: error }) : error;
  });
  return { seed: { kind: 'template', templateId: found.id }, template: found };
}

/** A preview takes for open what only the git host could tell. */
async function readsCode(
  ctx: TenantCtx,
  source: Source,
  parts: BootstrapParts,
  mode: 'preview' | 'execute',
): Promise<boolean> {
  if (mode === 'execute')
    return mayReadCode(parts, source, { userId: ctx.caller.userId, tenantId: ctx.tenant.id });
  const connection = await connectionOf(ctx.db, { tenantId: source.tenant.id, appId: source.app.id });
  return codeReach(source, connection, parts.gitHost) !== 'closed';
}

/** Of who may look at them there; to read the code is another right. */
async function tablesOf(
  ctx: Pick<TenantCtx, 'db'>,
  { tenant, app }: Source,
): Promise<readonly TableDefinition[]> {
  if (app.relation !== 'owner' && app.relation !== 'co_owner') return [];
  return tableDefinitions(ctx.db, { tenantId: tenant.id, appId: app.id });
}

async function templateOf(ctx: Pick<TenantCtx, 'db'>, { tenant, app }: Source): Promise<string | null> {
  return (await originOf(ctx.db, { tenantId: tenant.id, appId: app.id })).templateId;
}

async function settingsOf(
  ctx: TenantMutationCtx,
  source: Source,
  template: TemplateFacts | null,
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
    // Other code is run as it is made for.
    deploy_method: template?.deployMethod ?? app.deploy_method,
    resource_preset: app.resource_preset,
  };
}
