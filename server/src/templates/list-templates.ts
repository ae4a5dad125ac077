import type { TenantCtx } from '../plumbing/context.ts';
import { type PageQuery, pageOf } from '../plumbing/paging.ts';
import { builtInTemplates } from './built-in-templates.ts';
import { listTemplateRows, templateRecord } from './store.ts';

/** The built-in ones first, then the tenant's own, each by name. */
export async function listTemplates(ctx: TenantCtx, query: PageQuery) {
  const own = await listTemplateRows(ctx.db, ctx.tenant.id);
  return pageOf(query, [...builtInTemplates, ...own.map(templateRecord)]);
}
