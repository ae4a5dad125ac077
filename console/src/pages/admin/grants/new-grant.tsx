import { MultiSelect, Select, SimpleGrid, Textarea, TextInput } from '@mantine/core';
import { createGrant, policiesPerGrantMax, reasonCharsMax } from '@svc/contract/grants.ts';
import { useState } from 'react';
import { useTenant } from '../../../api/me.ts';
import { adminPath } from '../admin-path.ts';
import { FormFrame } from '../form-frame.tsx';
import { MemberSelect } from '../member-select.tsx';
import { useFormChange } from '../use-form-change.ts';
import { useTenantNames } from '../use-tenant-names.ts';
import { ScopeField } from './scope-field.tsx';
import { readScope } from './scope-text.ts';

const empty = {
  subject: '',
  connector: '',
  preset: 'reader',
  policies: [] as string[],
  scope: '',
  reason: '',
  until: '',
};

export function NewGrant() {
  const tenant = useTenant();
  const names = useTenantNames();
  const [draft, setDraft] = useState(empty);
  const set = (part: Partial<typeof empty>) => setDraft((before) => ({ ...before, ...part }));
  const [isTried, setTried] = useState(false);
  const change = useFormChange(createGrant, 'grants', {
    title: 'Grant access',
    verb: 'Grant',
    done: 'Access is granted.',
  });
  const scope = readScope(draft.scope);
  const isReady = draft.subject !== '' && draft.connector !== '' && scope.fault === null;
  const missing = (value: string) => (isTried && value === '' ? 'must be chosen' : undefined);
  const preset = names.presets.find(({ id }) => id === draft.preset);

  function submit() {
    setTried(true);
    if (!isReady) return;
    void change.propose({
      params: { tenantID: tenant.id },
      body: {
        subject_id: draft.subject,
        connector_id: draft.connector,
        preset_id: draft.preset,
        policy_ids: draft.policies,
        scope_resource_paths: scope.entries,
        reason: draft.reason,
        expires_at: draft.until === '' ? '' : new Date(draft.until).toISOString(),
      },
    });
  }

  return (
    <FormFrame
      title="New grant"
      back={{ to: adminPath(tenant.slug, 'grants'), label: 'All grants' }}
      submit="Grant access"
      change={change}
      onSubmit={submit}
    >
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <MemberSelect
          label="Subject"
          value={draft.subject}
          onChange={(subject) => set({ subject })}
          error={missing(draft.subject) ?? change.errorOf('subject_id')}
          required
        />
        <Select
          label="Connector"
          placeholder={names.connectors.length === 0 ? 'Register a connector first' : 'Choose one'}
          data={names.connectors.map(({ id, name }) => ({ value: id, label: name }))}
          value={draft.connector || null}
          onChange={(connector) => set({ connector: connector ?? '' })}
          searchable
          error={missing(draft.connector) ?? change.errorOf('connector_id')}
          required
        />
        <Select
          label="Preset"
          description={preset && `Allows ${preset.actions.join(', ')}.`}
          inputWrapperOrder={['label', 'input', 'description', 'error']}
          data={names.presets.map(({ id, name }) => ({ value: id, label: name }))}
          value={draft.preset}
          onChange={(next) => set({ preset: next ?? draft.preset })}
          allowDeselect={false}
          error={change.errorOf('preset_id')}
        />
        <TextInput
          label="Expires"
          description="In your time zone; empty for never."
          inputWrapperOrder={['label', 'input', 'description', 'error']}
          type="datetime-local"
          value={draft.until}
          onChange={(event) => set({ until: event.currentTarget.value })}
          error={change.errorOf('expires_at')}
        />
      </SimpleGrid>
      <ScopeField
        text={draft.scope}
        onChange={(text) => set({ scope: text })}
        error={change.errorOf('scope_resource_paths')}
      />
      <MultiSelect
        label="Access policies"
        description="Which rows and columns it shows; none shows all within the scope."
        data={names.policies.map(({ id, name }) => ({ value: id, label: name }))}
        value={draft.policies}
        onChange={(policies) => set({ policies })}
        maxValues={policiesPerGrantMax}
        searchable
        error={change.errorOf('policy_ids')}
      />
      <Textarea
        label="Reason"
        description="Why they need it; kept with the grant."
        value={draft.reason}
        onChange={(event) => set({ reason: event.currentTarget.value })}
        maxLength={reasonCharsMax}
        autosize
        minRows={2}
        error={change.errorOf('reason')}
      />
    </FormFrame>
  );
}
