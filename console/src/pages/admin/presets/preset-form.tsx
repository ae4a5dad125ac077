import { Textarea, TextInput } from '@mantine/core';
import { useTenant } from '../../../api/me.ts';
import { ChangedBelow } from '../../../parts/changed-below.tsx';
import { useDraft } from '../../../parts/use-draft.ts';
import { ActionsField } from '../actions-field.tsx';
import { adminPath } from '../admin-path.ts';
import { FormFrame } from '../form-frame.tsx';

export interface PresetDraft {
  name: string;
  actions: string[];
  description: string;
}
export const emptyPreset: PresetDraft = { name: '', actions: ['read'], description: '' };

export function PresetForm({
  title,
  initial,
  change,
  onSubmit,
}: {
  title: string;
  initial: PresetDraft;
  change: { isBusy: boolean; problem: unknown; errorOf(field: string): string | undefined };
  onSubmit: (draft: PresetDraft) => void;
}) {
  const tenant = useTenant();
  const { shown: draft, set, below } = useDraft(initial);
  return (
    <FormFrame
      title={title}
      back={{ to: adminPath(tenant.slug, 'presets'), label: 'All presets' }}
      submit="Save preset"
      change={change}
      onSubmit={() => onSubmit(draft)}
    >
      <TextInput
        label="Name"
        description="Lower-case letters, digits and -, beginning with a letter."
        value={draft.name}
        onChange={(event) => set({ name: event.currentTarget.value })}
        error={change.errorOf('name')}
        required
        classNames={{ input: 'mono' }}
      />
      <ActionsField
        description="What a grant with this preset allows. Enter or a comma ends each."
        value={draft.actions}
        onChange={(actions) => set({ actions })}
        error={change.errorOf('actions')}
      />
      <Textarea
        label="Description"
        value={draft.description}
        onChange={(event) => set({ description: event.currentTarget.value })}
        error={change.errorOf('description')}
        maxLength={1000}
        autosize
        minRows={2}
      />
      <ChangedBelow fields={below} />
    </FormFrame>
  );
}
