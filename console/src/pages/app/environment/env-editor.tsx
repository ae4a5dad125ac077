import { ActionIcon, Fieldset, Group, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { IconPlus, IconX } from '@tabler/icons-react';
import { useEffect, useRef } from 'react';
import { MayButton } from '../../../parts/may-button.tsx';
import { changedRow, type EnvDraft, rowProblem, withoutRow, withRow, withSet } from './env-draft.ts';
import { EnvPaste } from './env-paste.tsx';

/** Variables to be set, any number at once. */
export function EnvEditor({
  draft,
  setDraft,
  cannot,
}: {
  draft: EnvDraft;
  setDraft: (draft: EnvDraft) => void;
  cannot: string | null;
}) {
  const box = useRef<HTMLFieldSetElement>(null);
  const isAdding = useRef(false);
  // Who asks for a variable goes on by typing its name.
  useEffect(() => {
    if (!isAdding.current || draft.rows.length === 0) return;
    isAdding.current = false;
    [...(box.current?.querySelectorAll<HTMLElement>('input') ?? [])].at(-1)?.focus();
  }, [draft.rows.length]);
  return (
    <Fieldset ref={box} legend="To be set">
      <Stack gap="sm">
        {draft.rows.length === 0 && (
          <Text size="sm" c="dimmed">
            Add variables one by one, or paste the text of a .env file. Nothing is changed before you have
            seen what would change.
          </Text>
        )}
        {draft.rows.map((row, at) => (
          <Group key={row.key} gap="sm" align="flex-start" wrap="nowrap">
            <Group gap="sm" align="flex-start" style={{ flex: 1 }}>
              <TextInput
                label={`Name ${at + 1}`}
                value={row.name}
                error={row.name === '' ? null : rowProblem(draft, row)}
                onChange={(event) =>
                  setDraft(changedRow(draft, row.key, { name: event.currentTarget.value }))
                }
                style={{ flex: '1 1 12rem' }}
                classNames={{ input: 'mono' }}
                autoComplete="off"
                spellCheck={false}
              />
              <Textarea
                label={`Value ${at + 1}`}
                value={row.value}
                autosize
                minRows={1}
                maxRows={8}
                onChange={(event) =>
                  setDraft(changedRow(draft, row.key, { value: event.currentTarget.value }))
                }
                style={{ flex: '2 1 14rem' }}
                classNames={{ input: 'mono' }}
                autoComplete="off"
                spellCheck={false}
              />
            </Group>
            <ActionIcon
              mt={28}
              variant="subtle"
              color="gray"
              aria-label={`Leave out ${row.name || `variable ${at + 1}`}`}
              onClick={() => setDraft(withoutRow(draft, row.key))}
            >
              <IconX size={16} aria-hidden />
            </ActionIcon>
          </Group>
        ))}
        <Group gap="sm">
          <MayButton
            variant="default"
            why={cannot}
            leftSection={<IconPlus size={16} aria-hidden />}
            onClick={() => {
              isAdding.current = true;
              setDraft(withRow(draft, { name: '', value: '' }));
            }}
          >
            Add a variable
          </MayButton>
          <EnvPaste cannot={cannot} take={(set) => setDraft(withSet(draft, set))} />
        </Group>
      </Stack>
    </Fieldset>
  );
}
