import { Select, SimpleGrid, Switch, Textarea, TextInput } from '@mantine/core';
import { policyNameCharsMax } from '@svc/contract/access-policies.ts';
import type { ReactNode } from 'react';
import { descriptionBelow } from '../../../components/form-card.tsx';
import type { Form } from '../../../components/use-form.ts';
import { ActionsField, useTenantNames } from '../fields.tsx';
import { FormPage } from '../form-page.tsx';
import { ColumnsField, MasksField } from './columns-field.tsx';
import type { PolicyDraft } from './policy-draft.ts';
import { RowFilterField } from './row-filter-field.tsx';

export function PolicyForm({
  title,
  savedFilter,
  form,
  actions,
}: {
  title: string;
  savedFilter: string;
  form: Form<PolicyDraft>;
  actions?: ReactNode;
}) {
  const { connectors } = useTenantNames();
  const { field } = form;
  return (
    <FormPage tab="policies" title={title} submit="Save policy" form={form} actions={actions}>
      <Switch {...form.checkbox('enabled')} description="A disabled policy is stored and limits nothing." />
      <Switch
        {...form.checkbox('enforced')}
        description="Narrows the access of everybody, not only of the grants that name it."
      />
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <TextInput {...field('name')} maxLength={policyNameCharsMax} required />
        <Select
          {...form.select('connector_id')}
          label="Connector"
          placeholder="Any connector"
          data={connectors.map(({ id, name }) => ({ value: id, label: name }))}
          searchable
          clearable
          clearButtonProps={{ 'aria-label': 'Any connector' }}
        />
        <TextInput
          {...field('resource_path')}
          description="schema or schema/table; empty for the whole connector."
          inputWrapperOrder={descriptionBelow}
          classNames={{ input: 'mono' }}
        />
        <ActionsField {...field('actions')} description="The policy applies to these." />
      </SimpleGrid>
      <Textarea {...field('description')} maxLength={1000} />
      <RowFilterField
        // The builder holds its own state and starts again when the stored filter changes.
        key={savedFilter}
        initial={form.values.row_filter}
        onChange={(row_filter) => form.set({ row_filter })}
        error={form.error('row_filter')}
      />
      <ColumnsField
        columns={form.values.columns}
        onChange={(columns) => form.set({ columns })}
        error={form.error('columns')}
      />
      <MasksField form={form} />
    </FormPage>
  );
}
