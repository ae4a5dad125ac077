import { Radio, Stack, Textarea, TextInput } from '@mantine/core';
import { connectorKinds, connectorNameCharsMax } from '@svc/contract/connectors.ts';
import { slugFromName } from '@svc/contract/slug-from-name.ts';
import { useTenant } from '../../../api/me.ts';
import { ChangedBelow } from '../../../parts/changed-below.tsx';
import { useDraft } from '../../../parts/use-draft.ts';
import { adminPath } from '../admin-path.ts';
import { FormFrame } from '../form-frame.tsx';
import { type ConnectorKind, kindTexts } from './connector-kinds.ts';

export interface ConnectorDraft {
  name: string;
  slug: string;
  kind: ConnectorKind;
  description: string;
}
export const emptyConnector: ConnectorDraft = { name: '', slug: '', kind: 'tables', description: '' };

export function ConnectorForm({
  title,
  use,
  initial,
  change,
  onSubmit,
}: {
  title: string;
  use: 'create' | 'edit';
  initial: ConnectorDraft;
  change: { isBusy: boolean; problem: unknown; errorOf(field: string): string | undefined };
  onSubmit: (draft: ConnectorDraft) => void;
}) {
  const tenant = useTenant();
  const { shown: draft, set, below } = useDraft(initial);
  const isFixed = use === 'edit';
  return (
    <FormFrame
      title={title}
      back={{ to: adminPath(tenant.slug, 'connectors'), label: 'All connectors' }}
      submit="Save connector"
      change={change}
      onSubmit={() => onSubmit(draft)}
    >
      <Radio.Group
        label="Kind"
        description={isFixed ? 'Chosen when it was registered; grants count on it, so it stays.' : undefined}
        value={draft.kind}
        onChange={(kind) => set({ kind: kind as ConnectorKind })}
      >
        <Stack gap="xs" mt="xs">
          {connectorKinds.map((kind) => (
            <Radio
              key={kind}
              value={kind}
              label={kindTexts[kind].label}
              description={kindTexts[kind].description}
              disabled={isFixed && kind !== initial.kind}
            />
          ))}
        </Stack>
      </Radio.Group>
      <TextInput
        label="Name"
        value={draft.name}
        onChange={(event) => set({ name: event.currentTarget.value })}
        error={change.errorOf('name')}
        maxLength={connectorNameCharsMax}
        required
      />
      <TextInput
        label="Slug"
        description={
          isFixed
            ? 'Commands name it so; it can not be changed.'
            : 'Names it in commands; made from the name when empty.'
        }
        placeholder={slugFromName(draft.name) ?? ''}
        value={draft.slug}
        onChange={(event) => set({ slug: event.currentTarget.value })}
        readOnly={isFixed}
        variant={isFixed ? 'filled' : 'default'}
        error={change.errorOf('slug')}
        classNames={{ input: 'mono' }}
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
