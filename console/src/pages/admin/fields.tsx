import { TagsInput, type TagsInputProps } from '@mantine/core';
import { listPolicies } from '@svc/contract/access-policies.ts';
import { listConnectors } from '@svc/contract/connectors.ts';
import { listGroups } from '@svc/contract/groups.ts';
import { perPageMax } from '@svc/contract/limits.ts';
import { actionPattern, actionsPerPresetMax, builtInPresets, listPresets } from '@svc/contract/presets.ts';
import { listMembers } from '@svc/contract/tenants.ts';
import type { ComponentProps } from 'react';
import { useTenant } from '../../api/me.ts';
import { useEndpoint } from '../../api/use-endpoint.ts';
import { SearchSelect } from '../../components/app-fields.tsx';

export function useTenantNames() {
  const tenant = useTenant();
  const ask = { params: { tenantID: tenant.id }, query: { per_page: perPageMax } };
  const enabled = tenant.role === 'tenant_admin';
  const members = useEndpoint(listMembers, ask, { enabled }).data?.items ?? [];
  const connectors = useEndpoint(listConnectors, ask, { enabled }).data?.items ?? [];
  const presets = useEndpoint(listPresets, ask, { enabled }).data?.items ?? builtInPresets;
  const policies = useEndpoint(listPolicies, ask, { enabled }).data?.items ?? [];
  const groups = useEndpoint(listGroups, ask, { enabled }).data?.items ?? [];
  const memberName = (id: string) => members.find((one) => one.user_id === id)?.name || shortId(id);
  return {
    connectors,
    presets,
    policies,
    groups,
    memberName,
    subjectName: ({ subject_kind, subject_id: id }: { subject_kind: string; subject_id: string }) =>
      subject_kind === 'group'
        ? `Group ${groups.find((one) => one.id === id)?.display_name ?? shortId(id)}`
        : subject_kind === 'user'
          ? memberName(id)
          : `${subject_kind === 'app' ? 'App' : 'Service account'} ${shortId(id)}`,
    connectorName: (id: string) => nameById(connectors, id),
    presetName: (id: string) => nameById(presets, id),
    policyName: (id: string) => nameById(policies, id),
  };
}

function nameById(list: readonly { id: string; name: string }[], id: string): string {
  return list.find((one) => one.id === id)?.name ?? shortId(id);
}

/** Ids start with a timestamp; their end is what differs. */
export function shortId(id: string): string {
  return id.length > 12 ? `…${id.slice(-8)}` : id;
}

function useMemberOptions(q: string | undefined) {
  const params = { tenantID: useTenant().id };
  const members = useEndpoint(listMembers, { params, query: { q, per_page: perPageMax } }).data?.items ?? [];
  return members.map(({ user_id, name, email }) => ({ value: user_id, label: `${name} (${email})` }));
}

export function MemberSelect(props: Omit<ComponentProps<typeof SearchSelect>, 'useOptions'>) {
  return (
    <SearchSelect
      placeholder="Name or e-mail address"
      {...props}
      useOptions={useMemberOptions}
      nothingFoundMessage="No member with this name"
      clearable
      clearButtonProps={{ 'aria-label': `Clear ${props.label}` }}
    />
  );
}

const commonActions = ['read', 'write', 'delete', 'admin'];

export function ActionsField({ value, error, ...rest }: TagsInputProps & { value: string[] }) {
  const bad = value.filter((action) => !actionPattern.test(action));
  return (
    <TagsInput
      {...rest}
      placeholder={value.length === 0 ? 'read' : undefined}
      data={commonActions}
      value={value}
      splitChars={[',', ' ']}
      maxTags={actionsPerPresetMax}
      error={bad.length > 0 ? `${bad.join(', ')}: must be lower-case letters, digits and _.:-` : error}
      required
    />
  );
}
