import { NumberInput, Select, Stack, Switch, TextInput } from '@mantine/core';
import type { Answer } from '@svc/contract/endpoint.ts';
import { resourceTiers } from '@svc/contract/limits.ts';
import {
  deploymentReviews,
  getTenant,
  inviteOnlyPeopleMax,
  tenantNameCharsMax,
  updateTenant,
} from '@svc/contract/tenants.ts';
import { useTenant } from '../../api/me.ts';
import { useEndpoint } from '../../api/use-endpoint.ts';
import { CopyText } from '../../components/buttons.tsx';
import { DetailTable } from '../../components/data-table.tsx';
import { FormCard } from '../../components/form-card.tsx';
import { QueryView } from '../../components/query-view.tsx';
import { useForm } from '../../components/use-form.ts';

const reviewLabels = {
  internet: 'Apps that everybody on the internet sees',
  all: 'All apps that are not private',
  off: 'No apps',
} as const;

export default function SettingsTab() {
  const { id } = useTenant();
  const answer = useEndpoint(getTenant, { params: { tenantID: id } });
  return (
    <QueryView answer={answer}>{(tenant) => <SettingsForm key={tenant.id} tenant={tenant} />}</QueryView>
  );
}

function SettingsForm({ tenant }: { tenant: Answer<NonNullable<typeof getTenant.shape>> }) {
  const { name, max_resource_tier, review_deployments, invite_only_people_max } = tenant;
  const record = {
    name,
    max_resource_tier,
    review_deployments,
    invite_only_people_max: String(invite_only_people_max),
    access_requests: tenant.access_requests,
    require_second_factor: tenant.require_second_factor,
  };
  const form = useForm(updateTenant, record, {
    title: 'Update the tenant',
    verb: 'Save',
    done: 'Settings saved.',
    input: ({ invite_only_people_max: people, ...body }) => ({
      params: { tenantID: tenant.id },
      body: { ...body, ...(people !== undefined && { invite_only_people_max: Number(people) }) },
    }),
  });
  return (
    <Stack maw={720}>
      <FormCard title="Tenant" form={form} submit="Save settings">
        <TextInput
          {...form.field('name')}
          description="The name that people see. The slug in URLs does not change."
          maxLength={tenantNameCharsMax}
          required
        />
        <Select
          {...form.field('max_resource_tier')}
          label="Largest resource tier"
          description="Checked when a tier is chosen; apps with a larger tier keep it."
          data={[...resourceTiers]}
          allowDeselect={false}
        />
        <Select
          {...form.field('review_deployments')}
          label="Review of new deployments"
          description="A new deployment of such an app goes live when an admin has approved it."
          data={deploymentReviews.map((value) => ({ value, label: reviewLabels[value] }))}
          allowDeselect={false}
        />
        <NumberInput
          {...form.field('invite_only_people_max')}
          label="Invited people without a review"
          description="An app with at most this many invited people, and no groups, becomes invite only at once. 0: every request is reviewed."
          min={0}
          max={inviteOnlyPeopleMax}
          allowDecimal={false}
          required
        />
        <Switch
          {...form.checkbox('access_requests')}
          label="Requests for access"
          description="Members who open an invite only app that they may not see learn that it exists, and can ask its owners for access."
        />
        <Switch
          {...form.checkbox('require_second_factor')}
          label="Require a second factor"
          description="Members who sign in with a password must add a passkey or an authenticator app when they next sign in."
        />
      </FormCard>
      <DetailTable
        label="The tenant in commands"
        details={{
          Slug: <CopyText value={tenant.slug} label="tenant slug" />,
          Id: <CopyText value={tenant.id} label="tenant id" />,
        }}
      />
    </Stack>
  );
}
