import { SimpleGrid, TagsInput, TextInput } from '@mantine/core';
import { dataScopeCharsMax, dataScopesMax } from '@svc/contract/apps.ts';
import { AuthModeSelect } from '../../../parts/auth-mode-select.tsx';
import { TierSelect } from '../../../parts/tier-select.tsx';
import { useApp } from '../use-app.ts';
import { FieldsForm } from './fields-form.tsx';
import { useAppFields } from './use-app-fields.ts';

/** Where the app answers, as whom, and with how much. */
export function RunningForm() {
  const { app } = useApp();
  const { subdomain, auth_mode, data_scopes, resource_preset } = app;
  const fields = useAppFields(
    { subdomain, auth_mode, data_scopes, resource_preset },
    'Change how the app runs',
  );
  const { draft, set, change, disabled } = fields;
  return (
    <FieldsForm
      title="Address and running"
      lead={`Deploy method: ${app.deploy_method}, which can not be changed.`}
      fields={fields}
      verb="Save how it runs"
    >
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <TextInput
          label="Subdomain"
          description={app.url === null ? 'Empty: it has no host of its own.' : `Now at ${app.url}`}
          value={draft.subdomain ?? ''}
          onChange={(event) => set({ subdomain: event.currentTarget.value.trim() || null })}
          error={change.errorOf('subdomain')}
          disabled={disabled}
          classNames={{ input: 'mono' }}
        />
        <TierSelect
          value={draft.resource_preset}
          onChange={(tier) => set({ resource_preset: tier })}
          error={change.errorOf('resource_preset')}
          disabled={disabled}
        />
        <AuthModeSelect
          value={draft.auth_mode}
          onChange={(mode) => set({ auth_mode: mode })}
          error={change.errorOf('auth_mode')}
          disabled={disabled}
        />
        <TagsInput
          label="Data scopes"
          description="What its tokens let it ask for; Enter adds one."
          value={draft.data_scopes}
          onChange={(scopes) => set({ data_scopes: scopes })}
          maxTags={dataScopesMax}
          maxLength={dataScopeCharsMax}
          error={change.errorOf('data_scopes')}
          disabled={disabled}
        />
      </SimpleGrid>
    </FieldsForm>
  );
}
