import { SimpleGrid, Stack, TagsInput, TextInput } from '@mantine/core';
import { dataScopeCharsMax, dataScopesMax, updateApp } from '@svc/contract/apps.ts';
import { useChange } from '../../../change/use-change.ts';
import { AuthModeSelect } from '../../../parts/auth-mode-select.tsx';
import { ChangedBelow } from '../../../parts/changed-below.tsx';
import { Section } from '../../../parts/section.tsx';
import { TierSelect } from '../../../parts/tier-select.tsx';
import { useDraft } from '../../../parts/use-draft.ts';
import { useApp } from '../use-app.ts';
import { changedFields } from './changed-fields.ts';
import { SaveBar } from './save-bar.tsx';
import { useWhyNoUpdate } from './use-why-no-update.ts';

/** Where the app answers, as whom, and with how much. */
export function RunningForm() {
  const { app, params } = useApp();
  const disabled = useWhyNoUpdate() !== null;
  const { subdomain, auth_mode, data_scopes, resource_preset } = app;
  const before = { subdomain, auth_mode, data_scopes, resource_preset };
  const { shown: draft, set, drop, below } = useDraft(before);
  const change = useChange(updateApp, {
    title: 'Change how the app runs',
    verb: 'Save',
    done: 'Saved.',
    onDone: drop,
  });
  const body = changedFields(before, draft);
  const isChanged = Object.keys(body).length > 0;
  return (
    <Section
      title="Address and running"
      lead={`Deploy method: ${app.deploy_method}, which can not be changed.`}
    >
      <form
        noValidate
        aria-label="Address and running"
        onSubmit={(event) => {
          event.preventDefault();
          if (isChanged) void change.propose({ params, body });
        }}
      >
        <Stack>
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
          <ChangedBelow fields={below} />
          <SaveBar change={change} isChanged={isChanged}>
            Save how it runs
          </SaveBar>
        </Stack>
      </form>
    </Section>
  );
}
