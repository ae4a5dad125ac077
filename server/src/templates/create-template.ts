import type { createTemplate as shape } from '@svc/contract/templates.shapes.ts';
import { templatesMax } from '@svc/contract/templates.ts';
import type { z } from 'zod';
import { detectSource } from '../detect/detect-source.ts';
import { noWay, type Way } from '../detect/detected.ts';
import { repositoryFiles } from '../detect/repository-files.ts';
import { asGitUser } from '../git-connections/as-git-user.ts';
import type { GitParts } from '../git-connections/git-parts.ts';
import type { TenantCtx, TenantMutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { builtInTemplates } from './built-in-templates.ts';
import {
  countTemplateRows,
  insertTemplateRow,
  lockTemplates,
  type TemplateRow,
  templateRecord,
} from './store.ts';

type Input = z.output<typeof shape.body>;

/** Whether who asks can read it, and what it is: asked of the git host before anything is kept. */
export async function lookAtTemplate(ctx: TenantCtx, { repo, ref }: Input, parts: GitParts): Promise<Way> {
  const [owner = '', name = ''] = repo.split('/');
  const who = { tenantId: ctx.tenant.id, userId: ctx.caller.userId };
  return asGitUser(parts, who, async (user) => {
    const found = await user.repository({ owner, name });
    const commit = found && (await user.commit(found, ref ?? found.defaultBranch));
    if (!found || !commit)
      throw fail('not_found', { detail: `${repo} can not be read, or has no such ref.` });
    const { entries } = await user.tree(found, commit.treeSha);
    const files = repositoryFiles(user, { repo: found, sha: commit.sha, entries, folder: '' });
    return (files && (await detectSource(files)).ways[0]) ?? noWay;
  });
}

export async function createTemplate(ctx: TenantMutationCtx, input: Input, way: Way) {
  await lockTemplates(ctx.db, ctx.tenant.id);
  if ((await countTemplateRows(ctx.db, ctx.tenant.id)) >= templatesMax) throw fail('limit_reached');
  if (builtInTemplates.some(({ alias }) => alias === input.alias)) throw taken(input);
  const row: TemplateRow = {
    id: ctx.newId(),
    tenant_id: ctx.tenant.id,
    alias: input.alias ?? null,
    name: input.name,
    description: input.description,
    framework: way.framework ?? way.language,
    deploy_method: way.deploy_method,
    repository: input.repo,
    repo_ref: input.ref ?? null,
    added_by: ctx.caller.userId,
    created_at: ctx.now,
  };
  if (!(await insertTemplateRow(ctx.db, row))) throw taken(input);
  const { alias, name, repository: repo, repo_ref: ref } = row;
  ctx.audit({
    action: 'templates.create',
    target: { kind: 'template', id: row.id, name },
    before: null,
    after: { alias, name, repo, ref },
  });
  return templateRecord(row);
}

function taken({ alias }: Input) {
  return fail('unique_violation', { detail: `A template ${alias} is there already.` });
}
