import { MultiSelect, Select, SimpleGrid, Textarea, TextInput } from '@mantine/core';
import { createGrant, policiesPerGrantMax, reasonCharsMax } from '@svc/contract/grants.ts';
import { useTenant } from '../../../api/me.ts';
import { descriptionBelow } from '../../../components/form-card.tsx';
import { MemberSelect, useTenantNames } from '../fields.tsx';
import { FormPage, useAdminForm } from '../form-page.tsx';
import { parseScope } from './scope.ts';
import { ScopeField } from './scope-field.tsx';

const emptyGrant = {
  subject_kind: 'user' as 'user' | 'group',
  subject_id: '',
  connector_id: '',
  preset_id: 'reader',
  policy_ids: [] as string[],
  scope_resource_paths: '',
  reason: '',
  expires_at: '',
};

export function NewGrant() {
  const tenant = useTenant();
  const names = useTenantNames();
  const form = useAdminForm(createGrant, 'grants', emptyGrant, {
    title: 'Grant access',
    done: 'Access granted.',
    errors: (grant) => ({
      subject_id: grant.subject_id === '' && 'must be chosen',
      connector_id: grant.connector_id === '' && 'must be chosen',
      scope_resource_paths: parseScope(grant.scope_resource_paths).fault,
    }),
    input: (grant) => ({
      params: { tenantID: tenant.id },
      body: {
        ...grant,
        scope_resource_paths: parseScope(grant.scope_resource_paths).entries,
        expires_at: grant.expires_at === '' ? '' : new Date(grant.expires_at).toISOString(),
      },
    }),
  });
  const { field } = form;
  const preset = names.presets.find(({ id }) => id === form.values.preset_id);
  return (
    <FormPage tab="grants" title="New grant" submit="Grant access" form={form}>
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <Select
          {...field('subject_kind')}
          label="Given to"
          data={[
            { value: 'user', label: 'a person' },
            { value: 'group', label: 'a group' },
          ]}
          onChange={(kind) => form.set({ subject_kind: kind === 'group' ? 'group' : 'user', subject_id: '' })}
          allowDeselect={false}
        />
        {form.values.subject_kind === 'group' ? (
          <Select
            {...form.select('subject_id')}
            label="Subject"
            placeholder={names.groups.length === 0 ? 'Create a group first' : 'Choose one'}
            data={names.groups.map(({ id, display_name }) => ({ value: id, label: display_name }))}
            searchable
            required
          />
        ) : (
          <MemberSelect {...field('subject_id')} label="Subject" required />
        )}
        <Select
          {...form.select('connector_id')}
          label="Connector"
          placeholder={names.connectors.length === 0 ? 'Register a connector first' : 'Choose one'}
          data={names.connectors.map(({ id, name }) => ({ value: id, label: name }))}
          searchable
          required
        />
        <Select
          {...field('preset_id')}
          label="Preset"
          description={preset && `Allows ${preset.actions.join(', ')}.`}
          inputWrapperOrder={descriptionBelow}
          data={names.presets.map(({ id, name }) => ({ value: id, label: name }))}
          allowDeselect={false}
        />
        <TextInput
          {...field('expires_at')}
          label="Expires"
          description="In your time zone; empty for never."
          inputWrapperOrder={descriptionBelow}
          type="datetime-local"
        />
      </SimpleGrid>
      <ScopeField {...field('scope_resource_paths')} />
      <MultiSelect
        {...field('policy_ids')}
        label="Access policies"
        description="Limit rows and columns. Without a policy everything within the scope is visible."
        data={names.policies.map(({ id, name }) => ({ value: id, label: name }))}
        maxValues={policiesPerGrantMax}
        searchable
      />
      <Textarea
        {...field('reason')}
        description="Why the access is needed; stored with the grant."
        maxLength={reasonCharsMax}
      />
    </FormPage>
  );
}
