import type { checkAccess as shape } from '@svc/contract/grants.shapes.ts';
import type { z } from 'zod';
import { policyFacts } from '../access-policies/policy-facts.ts';
import { findConnectorId } from '../connectors/find-connector.ts';
import type { TenantCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { actionsByPreset } from '../presets/find-preset.ts';
import { findMember } from '../tenants/find-member.ts';
import { decideAccess } from './rules.ts';
import { listActiveGrantRows } from './store.ts';

/** Before anything is looked up: whether another subject or connector exists is not theirs to learn. */
export function refuseAboutOthers(ctx: TenantCtx, { subject_id }: { subject_id: string }): void {
  const isAdmin = ctx.tenant.role === 'tenant_admin';
  const isSelf = [ctx.caller.userId, ctx.caller.email.toLowerCase()].includes(subject_id.toLowerCase());
  if (!isAdmin && !isSelf)
    throw fail('forbidden', { detail: 'Admins may ask about anyone, members about themselves.' });
}

export async function checkAccess(ctx: TenantCtx, input: z.output<typeof shape.body>) {
  refuseAboutOthers(ctx, input);
  const subject = await findMember(ctx.db, ctx.tenant.id, input.subject_id);
  const connectorId = await findConnectorId(ctx.db, ctx.tenant.id, input.connector_id);
  // Someone who left the tenant, or is suspended, has no access whatever was granted.
  if (subject?.status !== 'active' || !connectorId) {
    return { allowed: false, grant_ids: [], policy_ids: [], reason: 'no_active_grant' as const };
  }
  const rows = await listActiveGrantRows(ctx.db, ctx.tenant.id, subject.userId);
  const actions = await actionsByPreset(ctx.db, ctx.tenant.id);
  const grants = rows.map((row) => ({
    id: row.id,
    connectorId: row.connector_id,
    actions: actions.get(row.preset_id) ?? [],
    scope: row.scope_resource_paths,
    policyIds: row.policy_ids,
  }));
  const policies = await policyFacts(ctx.db, ctx.tenant.id, [
    ...new Set(rows.flatMap((row) => row.policy_ids)),
  ]);
  const question = { connectorId, action: input.action, resourcePath: input.resource_path };
  return decideAccess(question, grants, policies);
}
