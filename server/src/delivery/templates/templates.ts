import { detectSource } from '@svc/contract/detect/detect.ts';
import { type BuildSettings, unknownSettings } from '@svc/contract/detect/settings.ts';
import type { createTemplate as shape } from '@svc/contract/templates.shapes.ts';
import { templatesMax } from '@svc/contract/templates.ts';
import type { z } from 'zod';
import type { TenantCtx, TenantMutationCtx } from '../../core/context.ts';
import { type PageQuery, paginate } from '../../core/paging.ts';
import { fail } from '../../core/problem.ts';
import { repositoryFiles } from '../detect/detect-repository.ts';
import type { GitDeps } from '../git-connections/deps.ts';
import { withGitUser } from '../git-connections/user-tokens.ts';
import { builtInTemplates } from './built-in-templates.ts';
import {
  countTemplateRows,
  deleteTemplateRow,
  insertTemplateRow,
  listTemplateRows,
  lockTemplates,
  type TemplateRow,
  templateRecord,
} from './store.ts';

export async function listTemplates(ctx: TenantCtx, query: PageQuery) {
  const own = await listTemplateRows(ctx.db, ctx.tenant.id);
  return paginate(query, [...builtInTemplates, ...own.map(templateRecord)]);
}

type Input = z.output<typeof shape.body>;

/** Fails unless the caller's git account can read the repository. */
export async function detectTemplate(ctx: TenantCtx, { repo, ref }: Input, deps: GitDeps) {
  const [owner = '', name = ''] = repo.split('/');
  const who = { tenantId: ctx.tenant.id, userId: ctx.caller.userId };
  return withGitUser(deps, who, async (user) => {
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
  const row = await deleteTemplateRow(ctx.db, ctx.tenant.id, id);
  if (!row) throw fail('not_found');
  const { alias, name, repository: repo, repo_ref: ref } = row;
  ctx.audit({
    action: 'templates.delete',
    target: { kind: 'template', id, name },
    before: { alias, name, repo, ref },
    after: null,
  });
}
