import type { deployMethods } from '@svc/contract/apps.ts';
import { detectSource } from '@svc/contract/detect/detect.ts';
import { type BuildSettings, unknownSettings } from '@svc/contract/detect/settings.ts';
import type { createTemplate as shape, Template } from '@svc/contract/templates.shapes.ts';
import { templatesMax } from '@svc/contract/templates.ts';
import { sql } from 'kysely';
import type { z } from 'zod';
import type { TenantCtx, TenantMutationCtx } from '../../core/context.ts';
import type { Db, Tx } from '../../core/db.ts';
import { type PageQuery, paginate } from '../../core/paging.ts';
import { fail, orNotFound } from '../../core/problem.ts';
import type { RepoName } from '../../drivers/git/git-host.ts';
import { repositoryFiles } from '../detect/detect-repository.ts';
import type { GitDeps } from '../git-connections/rules.ts';
import { withGitUser } from '../git-connections/user-tokens.ts';
import { builtInTables, builtInTemplates, type TemplateTable, writeBuiltIn } from './built-in-templates.ts';

export async function listTemplates(ctx: TenantCtx, query: PageQuery) {
  const own = await listTemplateRows(ctx.db, ctx.tenant.id);
  return paginate(query, [...builtInTemplates, ...own.map(templateRecord)]);
}

type Input = z.output<typeof shape.body>;

export async function detectTemplate(ctx: TenantCtx, { repo, ref }: Input, deps: GitDeps) {
  const [owner = '', name = ''] = repo.split('/');
  return withGitUser(deps, { tenantId: ctx.tenant.id, userId: ctx.caller.userId }, async (user) => {
    const found = await user.repository({ owner, name });
    const commit = found && (await user.commit(found, ref ?? found.defaultBranch));
    if (!found || !commit)
      throw fail('not_found', { detail: `${repo} cannot be read, or the ref does not exist.` });
    const { entries } = await user.tree(found, commit.treeSha);
    const files = repositoryFiles(user, { repo: found, sha: commit.sha, entries, folder: '' });
    return (files && (await detectSource(files)).options[0]) ?? unknownSettings;
  });
}

export async function createTemplate(ctx: TenantMutationCtx, input: Input, settings: BuildSettings) {
  await lockTemplates(ctx.db, ctx.tenant.id);
  if ((await countTemplateRows(ctx.db, ctx.tenant.id)) >= templatesMax) throw fail('limit_reached');
  if (builtInTemplates.some(({ alias }) => alias === input.alias)) throw duplicateAliasError(input);
  const row: TemplateRow = {
    id: ctx.newId(),
    tenant_id: ctx.tenant.id,
    alias: input.alias ?? null,
    name: input.name,
    description: input.description,
    framework: settings.framework ?? settings.language,
    deploy_method: settings.deploy_method,
    repository: input.repo,
    repo_ref: input.ref ?? null,
    added_by: ctx.caller.userId,
    created_at: ctx.now,
  };
  if (!(await insertTemplateRow(ctx.db, row))) throw duplicateAliasError(input);
  const { alias, name, repository: repo, repo_ref: ref } = row;
  ctx.audit({
    action: 'templates.create',
    target: { kind: 'template', id: row.id, name },
    before: null,
    after: { alias, name, repo, ref },
  });
  return templateRecord(row);
}

function duplicateAliasError({ alias }: Input) {
  return fail('unique_violation', { detail: `A template ${alias} already exists.` });
}

export async function deleteTemplate(ctx: TenantMutationCtx, { id }: { id: string }): Promise<undefined> {
  const row = orNotFound(await deleteTemplateRow(ctx.db, ctx.tenant.id, id));
  const { alias, name, repository: repo, repo_ref: ref } = row;
  ctx.audit({
    action: 'templates.delete',
    target: { kind: 'template', id, name },
    before: { alias, name, repo, ref },
    after: null,
  });
}

export interface TemplateValues {
  slug: string;
  name: string;
  base_url: string;
  tenant: string;
  app_url: string;
  app_id: string;
}

export interface TemplateInfo {
  id: string;
  name: string;
  framework: string;
  deployMethod: (typeof deployMethods)[number];
  tables: readonly TemplateTable[];
}

export type TemplateSource = TemplateInfo &
  (
    | { write(into: string, values: TemplateValues): Promise<void> }
    /** `ref` null: the default branch. Readable only while the git account of `addedBy` can read it. */
    | { repo: RepoName; ref: string | null; addedBy: string | null }
  );

export async function findTemplateSource(
  { db }: { db: Db },
  { tenantId, template }: { tenantId: string; template: string },
): Promise<TemplateSource> {
  const matches = ({ id, alias }: { id: string; alias: string | null }) =>
    id === template.toLowerCase() || alias === template;
  const builtIn = builtInTemplates.find(matches);
  if (builtIn) {
    const { id, name, framework, deploy_method: deployMethod, alias } = builtIn;
    return {
      id,
      name,
      framework,
      deployMethod,
      tables: await builtInTables(alias),
      write: (into, values) => writeBuiltIn(alias, into, values),
    };
  }
  const row = (await listTemplateRows(db, tenantId)).find(matches);
  const [owner, repo] = row?.repository?.split('/') ?? [];
  if (!row || !owner || !repo) throw fail('not_found', { detail: 'The template does not exist.' });
  const { id, name, framework, deploy_method: deployMethod, repo_ref: ref, added_by: addedBy } = row;
  return { id, name, framework, deployMethod, tables: [], repo: { owner, name: repo }, ref, addedBy };
}

interface TemplateRow {
  id: string;
  tenant_id: string;
  alias: string | null;
  name: string;
  description: string;
  framework: string;
  deploy_method: (typeof deployMethods)[number];
  repository: string | null;
  repo_ref: string | null;
  added_by: string | null;
  created_at: Date;
}
type Tables = { templates: TemplateRow };

function listTemplateRows(db: Db, tenantId: string): Promise<TemplateRow[]> {
  return db
    .withTables<Tables>()
    .selectFrom('templates')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .orderBy((e) => e.fn('lower', ['name']))
    .orderBy('id')
    .execute();
}

/** Serializes additions, so that the limit holds. */
async function lockTemplates(tx: Tx, tenantId: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${`svc templates of ${tenantId}`}, 0))`.execute(tx);
}

async function countTemplateRows(db: Db, tenantId: string): Promise<number> {
  const { rows } = await sql<{ n: number }>`
    select count(*) as n from svc.templates where tenant_id = ${tenantId}`.execute(db);
  return rows[0]?.n ?? 0;
}

async function insertTemplateRow(db: Db, row: TemplateRow): Promise<boolean> {
  const made = await db
    .withTables<Tables>()
    .insertInto('templates')
    .values(row)
    .onConflict((conflict) => conflict.columns(['tenant_id', 'alias']).doNothing())
    .returning('id')
    .executeTakeFirst();
  return made !== undefined;
}

function deleteTemplateRow(db: Db, tenantId: string, id: string): Promise<TemplateRow | undefined> {
  return db
    .withTables<Tables>()
    .deleteFrom('templates')
    .where((row) => row.and({ tenant_id: tenantId, id }))
    .returningAll()
    .executeTakeFirst();
}

function templateRecord(row: TemplateRow): z.output<typeof Template> {
  return {
    id: row.id,
    alias: row.alias,
    name: row.name,
    description: row.description,
    framework: row.framework,
    deploy_method: row.deploy_method,
    built_in: false,
    repo: row.repository,
    ref: row.repo_ref,
  };
}
