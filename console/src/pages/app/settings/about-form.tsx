import { SimpleGrid, Textarea, TextInput } from '@mantine/core';
import {
  appDescriptionCharsMax,
  appNameCharsMax,
  appSummaryCharsMax,
  costCenterCharsMax,
} from '@svc/contract/apps.ts';
import { CategorySelect } from '../../../parts/category-select.tsx';
import { useApp } from '../use-app.ts';
import { FieldsForm } from './fields-form.tsx';
import { useAppFields } from './use-app-fields.ts';

/** What people read of the app. */
export function AboutForm() {
  const { app } = useApp();
  const { name, summary, description, category_id, cost_center } = app;
  const fields = useAppFields(
    { name, summary, description, category_id, cost_center },
    'Change what is said of the app',
  );
  const { draft, set, change, disabled } = fields;
  return (
    <FieldsForm
      title="About"
      lead="What people read of it in the catalogue and on its page."
      fields={fields}
      verb="Save what is said"
    >
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <TextInput
          label="Name"
          value={draft.name}
          onChange={(event) => set({ name: event.currentTarget.value })}
          maxLength={appNameCharsMax}
          error={change.errorOf('name')}
          disabled={disabled}
          required
        />
        <TextInput
          label="Summary"
          description={`One line, at most ${appSummaryCharsMax} letters.`}
          inputWrapperOrder={['label', 'input', 'description', 'error']}
          value={draft.summary}
          onChange={(event) => set({ summary: event.currentTarget.value })}
          maxLength={appSummaryCharsMax}
          error={change.errorOf('summary')}
          disabled={disabled}
        />
      </SimpleGrid>
      <Textarea
        label="Description"
        value={draft.description}
        onChange={(event) => set({ description: event.currentTarget.value })}
        maxLength={appDescriptionCharsMax}
        error={change.errorOf('description')}
        disabled={disabled}
        autosize
        minRows={3}
        maxRows={14}
      />
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <CategorySelect
          value={draft.category_id ?? ''}
          onChange={(id) => set({ category_id: id === '' ? null : id })}
          error={change.errorOf('category_id')}
          disabled={disabled}
        />
        <TextInput
          label="Cost centre"
          description="Whom its cost is put down to; empty for nobody."
          value={draft.cost_center ?? ''}
          onChange={(event) => set({ cost_center: event.currentTarget.value || null })}
          maxLength={costCenterCharsMax}
          error={change.errorOf('cost_center')}
          disabled={disabled}
        />
      </SimpleGrid>
    </FieldsForm>
  );
}
