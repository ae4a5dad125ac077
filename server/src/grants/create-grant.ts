import type { createGrant as shape } from '@svc/contract/grants.shapes.ts';
import type { z } from 'zod';
import { holdPolicies } from '../access-policies/hold-policies.ts';
import { holdConnector } from '../connectors/find-connector.ts';
import type { TenantMutationCtx } from '../plumbing/context.ts';
import { invalid } from '../plumbing/problem.ts';
import { holdPreset } from '../presets/find-preset.ts';
import { holdMember } from '../tenants/find-member.ts';
import { type GrantRow, grantRecord, insertGrantRow } from './store.ts';

export async function createGrant(ctx: TenantMutationCtx, input: z.output<typeof shape.body>) {
  if (input.subject_kind !== 'user')
    throw invalid('subject_kind', 'only `user` can be granted to; the rest is reserved');
  const subject = await holdMember(ctx.db, ctx.tenant.id, input.subject_id);
  if (!subject) throw invalid('subject_id', 'is not a member of this tenant', 'unknown_subject');
  // What the grant names is held, so that it can not be deleted while this grant begins to use it.
  const connectorId = await holdConnector(ctx.db, ctx.tenant.id, input.connector_id);
  if (!connectorId) throw invalid('connector_id', 'is not a connector of this tenant', 'unknown_connector');
  const presetId = await holdPreset(ctx.db, ctx.tenant.id, input.preset_id);
  if (!presetId) throw invalid('preset_id', 'is not a preset of this tenant', 'unknown_preset');
  const absent = await holdPolicies(ctx.db, ctx.tenant.id, input.policy_ids);
  if (absent.length > 0) throw invalid('policy_ids', `unknown: ${absent.join(', ')}`, 'unknown_policy');

  const row: GrantRow = {
    id: ctx.newId(),
    tenant_id: ctx.tenant.id,
    subject_id: subject.userId,
    subject_kind: input.subject_kind,
    connector_id: connectorId,
    preset_id: presetId,
    policy_ids: input.policy_ids,
    scope_resource_paths: input.scope_resource_paths,
    status: 'active',
    reason: input.reason,
    source: input.source,
    granted_by: ctx.caller.userId,
    granted_at: ctx.now,
    expires_at: expiryOf(input.expires_at, ctx.now),
    revoked_by: '',
    revoked_at: null,
    created_at: ctx.now,
    updated_at: ctx.now,
  };
  await insertGrantRow(ctx.db, row);
  ctx.audit({
    action: 'grants.create',
    target: { kind: 'grant', id: row.id, name: subject.email },
    before: null,
    after: {
      subject_id: row.subject_id,
      connector_id: row.connector_id,
      preset_id: row.preset_id,
      policy_ids: row.policy_ids,
      scope_resource_paths: row.scope_resource_paths,
      reason: row.reason,
      source: row.source,
      expires_at: row.expires_at?.toISOString() ?? '',
    },
  });
  if (row.scope_resource_paths.length === 0)
    ctx.warn('No scope is given: the grant reaches the whole connector.');
  return grantRecord(row);
}

function expiryOf(text: string, now: Date): Date | null {
  if (text === '') return null;
  const at = new Date(text);
  if (Number.isNaN(at.getTime())) throw invalid('expires_at', 'is not a time');
  if (at <= now) throw invalid('expires_at', 'must be in the future');
  return at;
}
