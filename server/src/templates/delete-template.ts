import type { TenantMutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { deleteTemplateRow } from './store.ts';

/** A built-in one is not the tenant's to delete. */
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
