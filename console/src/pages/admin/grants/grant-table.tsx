import type { Answer } from '@svc/contract/endpoint.ts';
import type { getGrant } from '@svc/contract/grants.ts';
import { useTenant } from '../../../api/me.ts';
import { DataTable } from '../../../components/data-table.tsx';
import { StateBadge, TimeText } from '../../../components/display.tsx';
import { BoldLink } from '../../../components/page-layout.tsx';
import { useTenantNames } from '../fields.tsx';
import { adminPath } from '../form-page.tsx';

export type Grant = Answer<NonNullable<typeof getGrant.shape>>;

export function GrantTable({ label, grants }: { label: string; grants: readonly Grant[] }) {
  const tenant = useTenant();
  const names = useTenantNames();
  return (
    <DataTable
      label={label}
      minWidth={900}
      rows={grants}
      columns={[
        {
          head: 'Subject',
          cell: (grant) => (
            <BoldLink to={adminPath(tenant.slug, 'grants', grant.id)}>{names.subjectName(grant)}</BoldLink>
          ),
        },
        { head: 'Connector', cell: (grant) => names.connectorName(grant.connector_id) },
        { head: 'Preset', cell: (grant) => names.presetName(grant.preset_id) },
        { head: 'Scope', cell: (grant) => scopeText(grant.scope_resource_paths) },
        { head: 'Policies', cell: ({ policy_ids: ids }) => (ids.length === 0 ? 'none' : ids.length) },
        { head: 'Status', cell: (grant) => <StateBadge state={grant.status} /> },
        { head: 'Granted', cell: (grant) => <TimeText value={grant.granted_at} /> },
        { head: 'Expires', cell: (grant) => <TimeText value={grant.expires_at} empty="never" /> },
      ]}
    />
  );
}

function scopeText(paths: readonly string[]): string {
  const [first, ...more] = paths;
  if (first === undefined) return 'whole connector';
  return more.length === 0 ? first : `${first} and ${more.length} more`;
}
