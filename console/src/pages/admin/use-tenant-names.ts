import { listPolicies } from '@svc/contract/access-policies.ts';
import { listConnectors } from '@svc/contract/connectors.ts';
import { perPageMax } from '@svc/contract/limits.ts';
import { builtInPresets, listPresets } from '@svc/contract/presets.ts';
import { listMembers } from '@svc/contract/tenants.ts';
import { useTenant } from '../../api/me.ts';
import { useAnswer } from '../../api/use-answer.ts';

/** What grants and policies speak of by id, for people to read. Admins only. */
export function useTenantNames() {
  const tenant = useTenant();
  const ask = { params: { tenantID: tenant.id }, query: { per_page: perPageMax } };
  const enabled = tenant.role === 'tenant_admin';
  const members = useAnswer(listMembers, ask, { enabled }).data?.items ?? [];
  const connectors = useAnswer(listConnectors, ask, { enabled }).data?.items ?? [];
  const presets = useAnswer(listPresets, ask, { enabled }).data?.items ?? builtInPresets;
  const policies = useAnswer(listPolicies, ask, { enabled }).data?.items ?? [];
  return {
    connectors,
    presets,
    policies,
    memberName: (id: string) => members.find((one) => one.user_id === id)?.name || shortId(id),
    connectorName: (id: string) => nameIn(connectors, id),
    presetName: (id: string) => nameIn(presets, id),
    policyName: (id: string) => nameIn(policies, id),
  };
}

function nameIn(list: readonly { id: string; name: string }[], id: string): string {
  return list.find((one) => one.id === id)?.name ?? shortId(id);
}

/** The end of an id tells two of the same hour apart; its beginning does not. */
export function shortId(id: string): string {
  return id.length > 12 ? `…${id.slice(-8)}` : id;
}
