import { Table } from '@mantine/core';
import type { Answer } from '@svc/contract/endpoint.ts';
import type { getGrant } from '@svc/contract/grants.ts';
import { useTenant } from '../../../api/me.ts';
import { LinkTo } from '../../../parts/link-to.tsx';
import { StateBadge } from '../../../parts/state-badge.tsx';
import { TimeText } from '../../../parts/time-text.tsx';
import { adminPath } from '../admin-path.ts';
import { useNames } from '../use-names.ts';

export type GrantRecord = Answer<NonNullable<typeof getGrant.shape>>;

export function GrantTable({ label, grants }: { label: string; grants: readonly GrantRecord[] }) {
  const tenant = useTenant();
  const names = useNames();
  return (
    <Table.ScrollContainer minWidth={900}>
      <Table highlightOnHover verticalSpacing="sm" aria-label={label}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Subject</Table.Th>
            <Table.Th>Connector</Table.Th>
            <Table.Th>Preset</Table.Th>
            <Table.Th>Scope</Table.Th>
            <Table.Th>Policies</Table.Th>
            <Table.Th>Status</Table.Th>
            <Table.Th>Granted</Table.Th>
            <Table.Th>Expires</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {grants.map((grant) => (
            <Table.Tr key={grant.id}>
              <Table.Td>
                <LinkTo to={adminPath(tenant.slug, 'grants', grant.id)} fw={600}>
                  {names.memberName(grant.subject_id)}
                </LinkTo>
              </Table.Td>
              <Table.Td>{names.connectorName(grant.connector_id)}</Table.Td>
              <Table.Td>{names.presetName(grant.preset_id)}</Table.Td>
              <Table.Td>{scopeText(grant.scope_resource_paths)}</Table.Td>
              <Table.Td>{grant.policy_ids.length === 0 ? 'none' : grant.policy_ids.length}</Table.Td>
              <Table.Td>
                <StateBadge state={grant.status} />
              </Table.Td>
              <Table.Td>
                <TimeText value={grant.granted_at} />
              </Table.Td>
              <Table.Td>
                <TimeText value={grant.expires_at} empty="never" />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

function scopeText(paths: readonly string[]): string {
  const [first, ...more] = paths;
  if (first === undefined) return 'whole connector';
  return more.length === 0 ? first : `${first} and ${more.length} more`;
}
