import { findApp } from '../apps/find-app.ts';
import type { TenantCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';

/** The ids of the apps that a token is to be limited to, named by id or slug, among those that its issuer sees. */
export async function resolveApps(ctx: TenantCtx, refs: readonly string[]): Promise<string[]> {
  const ids = new Set<string>();
  const unknown: string[] = [];
  for (const ref of new Set(refs)) {
    const app = await findApp(ctx.db, ctx.tenant, { ref, caller: ctx.caller });
    if (app) ids.add(app.id);
    else unknown.push(ref);
  }
  if (unknown.length === 0) return [...ids];
  throw fail('validation_failed', {
    detail: `apps: no such app: ${unknown.join(', ')}`,
    errors: unknown.map((ref) => ({ field: 'apps', code: 'unknown_app', detail: `no such app: ${ref}` })),
  });
}
