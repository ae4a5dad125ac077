import { SimpleGrid, Stack, Textarea, TextInput } from '@mantine/core';
import {
  appDescriptionCharsMax,
  appNameCharsMax,
  appSummaryCharsMax,
  costCenterCharsMax,
  updateApp,
} from '@svc/contract/apps.ts';
import { useChange } from '../../../change/use-change.ts';
import { CategorySelect } from '../../../parts/category-select.tsx';
import { ChangedBelow } from '../../../parts/changed-below.tsx';
import { Section } from '../../../parts/section.tsx';
import { useDraft } from '../../../parts/use-draft.ts';
import { useApp } from '../use-app.ts';
import { changedFields } from './changed-fields.ts';
import { SaveBar } from './save-bar.tsx';
import { useWhyNoUpdate } from './use-why-no-update.ts';

/** What people read of the app. */
export function AboutForm() {
  const { app, params } = useApp();
  const disabled = useWhyNoUpdate() !== null;
  const { name, summary, description, category_id, cost_center } = app;
  const before = { name, summary, description, category_id, cost_center };
  const { shown: draft, set, drop, below } = useDraft(before);
  const change = useChange(updateApp, {
    title: 'Change what is said of the app',
    verb: 'Save',
    done: 'Saved.',
    onDone: drop,
  });
  const body = changedFields(before, draft);
  const isChanged = Object.keys(body).length > 0;
  return (
    <Section title="About" lead="What people read of it in the catalogue and on its page.">
      <form
        noValidate
        aria-label="About"
        onSubmit={(event) => {
          event.preventDefault();
          if (isChanged) void change.propose({ params, body });
        }}
      >
        <Stack>
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
          <ChangedBelow fields={below} />
          <SaveBar change={change} isChanged={isChanged}>
            Save what is said
          </SaveBar>
        </Stack>
      </form>
    </Section>
  );
}
