import type { TenantMutationCtx } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { validationError } from '../../core/problem.ts';
import { loadPoliciesOf, lockPoliciesForShare, type PolicyRow } from '../policies/policies.ts';
import { actionsByPreset } from '../presets/presets.ts';
import { covers } from './rules.ts';

interface GrantTarget {
  connectorId: string;
  presetId: string;
  scope: readonly string[];
}

const namedMax = 5;

/** By id or name. With `connector` a policy of another one is as unknown as one that does not exist. */
export async function lockGrantPolicies(
  ctx: TenantMutationCtx,
  refs: readonly string[],
  connector?: { id: string; slug: string },
): Promise<PolicyRow[]> {
  const found = await lockPoliciesForShare(ctx.db, ctx.tenant.id, refs);
  const usable = found.map((row) =>
    row && (!connector || row.connector_id === null || row.connector_id === connector.id) ? row : null,
  );
  const unknown = refs.filter((_, index) => !usable[index]);
  const where = connector ? `for ${connector.slug}` : 'of this tenant';
  if (unknown.length > 0)
    throw validationError(
      'policy_ids',
      `no policy ${where} has this id or name: ${unknown.join(', ')}`,
      'unknown_policy',
    );
  return [...new Set(usable.filter((row) => row !== null))];
}

export async function listPoliciesForTarget(db: Db, tenantId: string, target: GrantTarget) {
  const policies = await loadPoliciesOf(db, tenantId, [target.connectorId]);
  const actions = (await actionsByPreset(db, tenantId)).get(target.presetId) ?? [];
  return policies.map((policy) => ({
    policy,
    applies:
      overlaps(target.scope, policy.resource_path) && policy.actions.some((it) => actions.includes(it)),
  }));
}

/** Without a policy that others have, the person sees what it hides from them. */
export async function warnOfPolicies(
  ctx: TenantMutationCtx,
  target: GrantTarget,
  attached: readonly PolicyRow[],
): Promise<void> {
  const elsewhere = attached.filter(({ connector_id: id }) => id !== null && id !== target.connectorId);
  if (elsewhere.length > 0)
    ctx.warn(`Of another connector, so without effect on this grant: ${quotedNames(elsewhere)}.`);
  const left = (await listPoliciesForTarget(ctx.db, ctx.tenant.id, target))
    .filter(({ policy, applies }) => applies && !policy.enforced)
    .map(({ policy }) => policy)
    .filter(({ id }) => !attached.some((each) => each.id === id));
  if (left.length > 0)
    ctx.warn(
      `Not attached: ${quotedNames(left)}. The grant shows the rows and values that ${
        left.length === 1 ? 'this policy hides' : 'these policies hide'
      }.`,
    );
}

function overlaps(scope: readonly string[], path: string): boolean {
  if (scope.length === 0 || path === '') return true;
  return scope.some((entry) => covers(entry, path) || covers(path, entry));
}

function quotedNames(policies: readonly PolicyRow[]): string {
  const names = policies.slice(0, namedMax).map(({ name }) => `“${name}”`);
  const more = policies.length - names.length;
  return more > 0 ? `${names.join(', ')} and ${more} more` : names.join(', ');
}
