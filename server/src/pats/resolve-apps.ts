import type { TenantCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';

/**
 * The ids of the apps that a token is to be limited to, named by id or slug. The platform has no apps yet, so every
 * name is unknown; when it has, the look-up goes here and nothing else of this slice changes.
 */
export async function resolveApps(_ctx: TenantCtx, refs: readonly string[]): Promise<string[]> {
  if (refs.length === 0) return [];
  throw fail('validation_failed', {
    detail: `apps: no such app: ${refs.join(', ')}`,
    errors: refs.map((ref) => ({ field: 'apps', code: 'unknown_app', detail: `no such app: ${ref}` })),
  });
}
