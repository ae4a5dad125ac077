import type { PolicyWarning, listPolicyWarnings as shape } from '@svc/contract/access-policies.shapes.ts';
import type { z } from 'zod';
import { findConnectorId } from '../../access/connectors/connectors.ts';
import { listUsedPolicyIds } from '../../access/grants/grants.ts';
import { loadEnabledPolicies, type PolicyRow } from '../../access/policies/policies.ts';
import type { TenantCtx } from '../../core/context.ts';
import { paginate } from '../../core/paging.ts';
import { tablesOf, unfitReason } from './check-policy.ts';

type Warning = z.output<typeof PolicyWarning>;

/** What is wrong with stored policies now: tables change, and grants end, after a policy was saved. */
export async function listPolicyWarnings(ctx: TenantCtx, query: z.output<typeof shape.query>) {
  const connectorId = query.connector && (await findConnectorId(ctx.db, ctx.tenant.id, query.connector));
  // An unknown name matches no policy.
  if (connectorId === null) return paginate(query, []);
  const policies = (await loadEnabledPolicies(ctx.db, ctx.tenant.id)).filter(
    ({ id, name, connector_id }) =>
      (!query.policy || query.policy.toLowerCase() === id || query.policy === name) &&
      (!connectorId || connector_id === null || connector_id === connectorId),
  );
  const used = await listUsedPolicyIds(ctx.db, ctx.tenant.id);
  const warnings: Warning[] = [];
  for (const policy of policies) {
    const ofTables = await tableWarnings(ctx, policy, connectorId);
    warnings.push(...ofTables);
    if (!policy.enforced && !used.has(policy.id)) warnings.push(unusedWarning(policy));
  }
  return paginate(query, warnings);
}

async function tableWarnings(
  { db }: TenantCtx,
  policy: PolicyRow,
  connectorId: string | undefined,
): Promise<Warning[]> {
  const found: Warning[] = [];
  let isCovering = false;
  for await (const { connector, path, catalogue } of tablesOf(db, policy)) {
    isCovering = true;
    const problem = unfitReason(policy, catalogue);
    if (problem === null || (connectorId && connector.id !== connectorId)) continue;
    found.push({
      ...named(policy),
      code: 'does_not_fit',
      connector_slug: connector.slug,
      path,
      text: `The policy “${policy.name}” does not fit ${path} of ${connector.slug}, so nobody can read the table with it. ${problem}`.trim(),
    });
  }
  if (isCovering) return found;
  const why =
    policy.resource_path === ''
      ? 'its connector has none that is known'
      : `there is none at ${policy.resource_path}`;
  const text = `The policy “${policy.name}” covers no table: ${why}.`;
  return [{ ...named(policy), code: 'covers_no_table', connector_slug: '', path: '', text }];
}

const unusedWarning = (policy: PolicyRow): Warning => ({
  ...named(policy),
  code: 'not_in_use',
  connector_slug: '',
  path: '',
  text: `The policy “${policy.name}” narrows nothing: it is not enforced, and no active grant names it.`,
});

const named = ({ id, name }: PolicyRow) => ({ policy_id: id, policy_name: name });
