import { Select, SimpleGrid, Switch, Textarea, TextInput } from '@mantine/core';
import { policyNameCharsMax } from '@svc/contract/access-policies.ts';
import { type ReactNode, useState } from 'react';
import { useTenant } from '../../../api/me.ts';
import { ChangedBelow } from '../../../parts/changed-below.tsx';
import { useDraft } from '../../../parts/use-draft.ts';
import { ActionsField } from '../actions-field.tsx';
import { adminPath } from '../admin-path.ts';
import { FormFrame } from '../form-frame.tsx';
import { useTenantNames } from '../use-tenant-names.ts';
import { ColumnsField } from './columns-field.tsx';
import { MasksField } from './masks-field.tsx';
import { bodyOf, faultsOf, type PolicyDraft } from './policy-draft.ts';
import { RowFilterField } from './row-filter-field.tsx';

export function PolicyForm({
  title,
  initial,
  change,
  actions,
  onSubmit,
}: {
  title: string;
  initial: PolicyDraft;
  change: { isBusy: boolean; problem: unknown; errorOf(field: string): string | undefined };
  actions?: ReactNode;
  onSubmit: (body: PolicyDraft) => void;
}) {
  const tenant = useTenant();
  const { connectors } = useTenantNames();
  const { shown: draft, set, below } = useDraft(initial);
  const [filterFault, setFilterFault] = useState<string | null>(null);
  const [isTried, setTried] = useState(false);
  const faults = faultsOf(draft);
  const errorOf = (field: keyof PolicyDraft) =>
    (isTried ? faults[field] : undefined) ?? change.errorOf(field);

  function submit() {
    setTried(true);
    if (Object.keys(faults).length === 0 && filterFault === null) onSubmit(bodyOf(draft));
  }

  return (
    <FormFrame
      title={title}
      back={{ to: adminPath(tenant.slug, 'policies'), label: 'All policies' }}
      submit="Save policy"
      change={change}
      onSubmit={submit}
      actions={actions}
    >
      <Switch
        label="Enabled"
        description="A policy that is off is kept, and limits nothing."
        checked={draft.enabled}
        onChange={(event) => set({ enabled: event.currentTarget.checked })}
      />
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <TextInput
          label="Name"
          value={draft.name}
          onChange={(event) => set({ name: event.currentTarget.value })}
          error={errorOf('name')}
          maxLength={policyNameCharsMax}
          required
        />
        <Select
          label="Connector"
          placeholder="Any connector"
          data={connectors.map(({ id, name }) => ({ value: id, label: name }))}
          value={draft.connector_id || null}
          onChange={(next) => set({ connector_id: next ?? '' })}
          searchable
          clearable
          clearButtonProps={{ 'aria-label': 'Any connector' }}
          error={errorOf('connector_id')}
        />
        <TextInput
          label="Resource path"
          description="schema or schema/table; empty for the whole connector."
          inputWrapperOrder={['label', 'input', 'description', 'error']}
          value={draft.resource_path}
          onChange={(event) => set({ resource_path: event.currentTarget.value })}
          error={errorOf('resource_path')}
          classNames={{ input: 'mono' }}
        />
        <ActionsField
          description="It applies to these."
          value={draft.actions}
          onChange={(next) => set({ actions: next })}
          error={errorOf('actions')}
        />
      </SimpleGrid>
      <Textarea
        label="Description"
        value={draft.description}
        onChange={(event) => set({ description: event.currentTarget.value })}
        error={errorOf('description')}
        maxLength={1000}
        autosize
        minRows={2}
      />
      <RowFilterField
        // It holds what is built itself, and begins anew where the record's filter is another.
        key={initial.row_filter}
        initial={draft.row_filter}
        onChange={({ text, fault }) => {
          set({ row_filter: text });
          setFilterFault(fault);
        }}
        error={errorOf('row_filter')}
      />
      <ColumnsField
        columns={draft.columns}
        onChange={(columns) => set({ columns })}
        error={errorOf('columns')}
      />
      <MasksField masks={draft.masks} onChange={(masks) => set({ masks })} error={errorOf('masks')} />
      <ChangedBelow fields={below} />
    </FormFrame>
  );
}
