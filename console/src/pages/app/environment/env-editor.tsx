import { ActionIcon, Alert, Fieldset, Group, Modal, Stack, Textarea, TextInput } from '@mantine/core';
import { envNamesReserved } from '@svc/contract/deployments.ts';
import { IconClipboardText, IconPlus, IconX } from '@tabler/icons-react';
import { useEffect, useRef, useState } from 'react';
import { ActionButton } from '../../../components/buttons.tsx';
import { Hint, SecondaryButton } from '../../../components/text.tsx';
import { itemFields, useFields } from '../../../components/use-form.ts';
import { addRow, type EnvDraft, parseEnv, removeRow, rowProblem, setVariables } from './env-draft.ts';

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
  const form = {
    values: draft,
    set: (part: Partial<EnvDraft>) => setDraft({ ...draft, ...part }),
    error: () => undefined,
  };
  useEffect(() => {
    if (!isAdding.current || draft.rows.length === 0) return;
    isAdding.current = false;
    [...(box.current?.querySelectorAll<HTMLElement>('input') ?? [])].at(-1)?.focus();
  }, [draft.rows.length]);
  return (
    <Fieldset ref={box} legend="Variables to set">
      <Stack gap="sm">
        {draft.rows.length === 0 && (
          <Hint>
            Add variables one by one, or paste the text of a .env file. You review all changes before they
            apply.
          </Hint>
        )}
        {draft.rows.map((row, at) => {
          const { field } = itemFields<'rows', EnvDraft['rows'][number]>(form, 'rows', at);
          return (
            <Group key={row.key} gap="sm" align="flex-start" wrap="nowrap">
              <Group gap="sm" align="flex-start" style={{ flex: 1 }}>
                <TextInput
                  {...field('name')}
                  label={`Name ${at + 1}`}
                  error={row.name === '' ? null : rowProblem(draft, row)}
                  style={{ flex: '1 1 12rem' }}
                  classNames={{ input: 'mono' }}
                  autoComplete="off"
                  spellCheck={false}
                />
                <Textarea
                  {...field('value')}
                  label={`Value ${at + 1}`}
                  minRows={1}
                  maxRows={8}
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
                aria-label={`Remove ${row.name || `variable ${at + 1}`}`}
                onClick={() => setDraft(removeRow(draft, row.key))}
              >
                <IconX size={16} aria-hidden />
              </ActionIcon>
            </Group>
          );
        })}
        <Group gap="sm">
          <ActionButton
            why={cannot}
            icon={IconPlus}
            onClick={() => {
              isAdding.current = true;
              setDraft(addRow(draft, { name: '', value: '' }));
            }}
          >
            Add variable
          </ActionButton>
          <EnvPaste cannot={cannot} take={(set) => setDraft(setVariables(draft, set))} />
        </Group>
      </Stack>
    </Fieldset>
  );
}

function EnvPaste({ cannot, take }: { cannot: string | null; take: (set: Record<string, string>) => void }) {
  const [isOpen, setOpen] = useState(false);
  const { values, set: setValues, field } = useFields({ text: '' });
  const { set, invalidLines } = parseEnv(values.text);
  // Env files often contain reserved names, which cannot be set.
  const passedOver = Object.keys(set).filter((name) => envNamesReserved.test(name));
  const accepted = Object.entries(set).filter(([name]) => !envNamesReserved.test(name));

  function close() {
    setOpen(false);
    setValues({ text: '' });
  }

  return (
    <>
      <ActionButton why={cannot} icon={IconClipboardText} onClick={() => setOpen(true)}>
        Paste .env text
      </ActionButton>
      <Modal opened={isOpen} onClose={close} title="Paste .env text" size="lg">
        <Stack>
          <Textarea
            {...field('text')}
            label="Lines of NAME=value"
            description="Comments, export and quotes are supported, as in the file that svc env set reads."
            minRows={8}
            maxRows={20}
            data-autofocus
            classNames={{ input: 'mono' }}
            autoComplete="off"
            spellCheck={false}
          />
          {passedOver.length > 0 && (
            <Alert color="blue">Skipped, because the platform sets them: {passedOver.join(', ')}.</Alert>
          )}
          {invalidLines.length > 0 && (
            <Alert color="yellow">Skipped, because they are not valid: line {invalidLines.join(', ')}.</Alert>
          )}
          <Group justify="flex-end">
            <SecondaryButton onClick={close}>Back</SecondaryButton>
            <ActionButton
              variant="filled"
              why={accepted.length === 0 ? 'The text has no variable yet.' : null}
              onClick={() => {
                take(Object.fromEntries(accepted));
                close();
              }}
            >
              {`Add ${accepted.length} ${accepted.length === 1 ? 'variable' : 'variables'}`}
            </ActionButton>
          </Group>
        </Stack>
      </Modal>
    </>
  );
}
