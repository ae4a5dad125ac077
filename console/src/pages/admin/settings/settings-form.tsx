import { Group, Select, Stack, TextInput } from '@mantine/core';
import type { Answer } from '@svc/contract/endpoint.ts';
import { resourceTiers } from '@svc/contract/limits.ts';
import { type getTenant, tenantNameCharsMax, updateTenant } from '@svc/contract/tenants.ts';
import { useChange } from '../../../change/use-change.ts';
import { BusyButton } from '../../../parts/busy-button.tsx';
import { ChangedBelow } from '../../../parts/changed-below.tsx';
import { CopyText } from '../../../parts/copy-text.tsx';
import { FormCard } from '../../../parts/form-card.tsx';
import { useDraft } from '../../../parts/use-draft.ts';
import { Facts } from '../facts.tsx';

export function SettingsForm({ tenant }: { tenant: Answer<NonNullable<typeof getTenant.shape>> }) {
  const { name, max_resource_tier } = tenant;
  const { shown, set, drop, below } = useDraft({ name, max_resource_tier });
  const change = useChange(updateTenant, {
    title: 'Change the tenant',
    verb: 'Save',
    done: 'The settings are saved.',
    onDone: drop,
  });
  return (
    <Stack maw={720}>
      <FormCard
        title="Tenant"
        change={change}
        onSubmit={() => void change.propose({ params: { tenantID: tenant.id }, body: shown })}
        buttons={
          <Group>
            <BusyButton type="submit" loading={change.isBusy}>
              Save settings
            </BusyButton>
          </Group>
        }
      >
        <TextInput
          label="Name"
          description="What people see; the slug in addresses stays."
          value={shown.name}
          onChange={(event) => set({ name: event.currentTarget.value })}
          error={change.errorOf('name')}
          maxLength={tenantNameCharsMax}
          required
        />
        <Select
          label="Largest resource tier"
          description="Judged when a tier is chosen: apps that have a larger one keep it."
          data={[...resourceTiers]}
          value={shown.max_resource_tier}
          onChange={(next) => {
            const tier = resourceTiers.find((one) => one === next);
            if (tier) set({ max_resource_tier: tier });
          }}
          error={change.errorOf('max_resource_tier')}
          allowDeselect={false}
        />
        <ChangedBelow fields={below} />
      </FormCard>
      <Facts
        label="The tenant for commands"
        facts={[
          ['Slug', <CopyText key="slug" value={tenant.slug} label="tenant slug" />],
          ['Id', <CopyText key="id" value={tenant.id} label="tenant id" />],
        ]}
      />
    </Stack>
  );
}
