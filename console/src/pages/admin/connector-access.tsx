import { Checkbox, MultiSelect, NumberInput } from '@mantine/core';
import { connectorOwnersMax, updateConnector } from '@svc/contract/connectors.ts';
import { perPageMax } from '@svc/contract/limits.ts';
import { listMembers } from '@svc/contract/tenants.ts';
import { useTenant } from '../../api/me.ts';
import { useEndpoint } from '../../api/use-endpoint.ts';
import { FormCard } from '../../components/form-card.tsx';
import { useForm } from '../../components/use-form.ts';
import { shortId } from './fields.tsx';

interface AccessSettings {
  id: string;
  owners: string[];
  max_duration_seconds: number;
  auto_approve: boolean;
}

/** Who decides requests for access to the connector, and for how long it can be requested. */
export function ConnectorAccess({ connector }: { connector: AccessSettings }) {
  const tenant = useTenant();
  const params = { tenantID: tenant.id };
  const members = useEndpoint(listMembers, { params, query: { per_page: perPageMax } }).data?.items ?? [];
  const record = {
    owners: connector.owners,
    hours: connector.max_duration_seconds / 3600,
    auto_approve: connector.auto_approve,
  };
  const form = useForm(updateConnector, record, {
    title: 'Change how access is requested',
    verb: 'Save',
    done: 'Settings saved.',
    input: ({ owners, hours, auto_approve }) => ({
      params: { ...params, connectorID: connector.id },
      body: { owners, max_duration_seconds: Math.round(hours * 3600), auto_approve },
    }),
  });
  const { onChange: setHours, ...hours } = form.field('hours');
  const unknown = form.values.owners.filter((id) => !members.some(({ user_id }) => user_id === id));
  return (
    <FormCard title="Requests for access" form={form} submit="Save requests">
      <MultiSelect
        {...form.field('owners')}
        description="Members who decide requests and see the access log, in addition to tenant admins."
        data={[
          ...members.map(({ user_id, name, email }) => ({ value: user_id, label: `${name} (${email})` })),
          ...unknown.map((id) => ({ value: id, label: shortId(id) })),
        ]}
        searchable
        maxValues={connectorOwnersMax}
        maw={460}
      />
      <NumberInput
        {...hours}
        onChange={(value) => setHours(Number(value))}
        label="Longest time in hours"
        description="0 for no limit."
        error={form.error('max_duration_seconds')}
        min={0}
        max={8760}
        maw={200}
      />
      <Checkbox
        {...form.checkbox('auto_approve')}
        label="Approve at once"
        description="Every member can give themselves access up to the longest time."
      />
    </FormCard>
  );
}
