import { ColorInput, NumberInput, SimpleGrid, Textarea, TextInput } from '@mantine/core';
import {
  categoryDescriptionCharsMax,
  categoryNameCharsMax,
  displayOrderMax,
  displayOrderMin,
} from '@svc/contract/categories.ts';
import { slugFromName } from '@svc/contract/slug-from-name.ts';
import { useTenant } from '../../../api/me.ts';
import { ChangedBelow } from '../../../parts/changed-below.tsx';
import { useDraft } from '../../../parts/use-draft.ts';
import { adminPath } from '../admin-path.ts';
import { FormFrame } from '../form-frame.tsx';

export const emptyCategory = {
  name: '',
  slug: '',
  description: '',
  color: '',
  icon_url: '',
  display_order: 0,
};
export type CategoryDraft = typeof emptyCategory;

const swatches = ['#1971c2', '#2f9e44', '#e8590c', '#e03131', '#9c36b5', '#0c8599', '#f08c00', '#495057'];

export function CategoryForm({
  title,
  initial,
  change,
  onSubmit,
}: {
  title: string;
  initial: CategoryDraft;
  change: { isBusy: boolean; problem: unknown; errorOf(field: string): string | undefined };
  onSubmit: (draft: CategoryDraft) => void;
}) {
  const tenant = useTenant();
  const { shown: draft, set, below } = useDraft(initial);
  return (
    <FormFrame
      title={title}
      back={{ to: adminPath(tenant.slug, 'categories'), label: 'All categories' }}
      submit="Save category"
      change={change}
      onSubmit={() => onSubmit(draft)}
    >
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <TextInput
          label="Name"
          value={draft.name}
          onChange={(event) => set({ name: event.currentTarget.value })}
          error={change.errorOf('name')}
          maxLength={categoryNameCharsMax}
          required
        />
        <TextInput
          label="Slug"
          description="Names it in addresses and commands."
          inputWrapperOrder={['label', 'input', 'description', 'error']}
          placeholder={slugFromName(draft.name) ?? ''}
          value={draft.slug}
          onChange={(event) => set({ slug: event.currentTarget.value })}
          error={change.errorOf('slug')}
          classNames={{ input: 'mono' }}
        />
        <ColorInput
          label="Colour"
          description="#rrggbb; empty for none."
          inputWrapperOrder={['label', 'input', 'description', 'error']}
          value={draft.color}
          onChange={(color) => set({ color })}
          swatches={swatches}
          withEyeDropper={false}
          fixOnBlur={false}
          error={change.errorOf('color')}
        />
        <NumberInput
          label="Order"
          description="Lower ones stand first; the name decides between equal ones."
          inputWrapperOrder={['label', 'input', 'description', 'error']}
          value={draft.display_order}
          onChange={(value) => set({ display_order: typeof value === 'number' ? value : 0 })}
          min={displayOrderMin}
          max={displayOrderMax}
          allowDecimal={false}
          error={change.errorOf('display_order')}
        />
      </SimpleGrid>
      <TextInput
        label="Icon"
        description="The http(s) address of a picture; empty for none."
        type="url"
        value={draft.icon_url}
        onChange={(event) => set({ icon_url: event.currentTarget.value })}
        error={change.errorOf('icon_url')}
      />
      <Textarea
        label="Description"
        value={draft.description}
        onChange={(event) => set({ description: event.currentTarget.value })}
        error={change.errorOf('description')}
        maxLength={categoryDescriptionCharsMax}
        autosize
        minRows={2}
      />
      <ChangedBelow fields={below} />
    </FormFrame>
  );
}
