import { Alert, Button, Group, Modal, Stack, Textarea } from '@mantine/core';
import { envNamesReserved } from '@svc/contract/deployments.ts';
import { IconClipboardText } from '@tabler/icons-react';
import { useState } from 'react';
import { MayButton } from '../../../parts/may-button.tsx';
import { parseEnv } from './parse-env.ts';

/** Takes the text of a `.env` file apart into variables. */
export function EnvPaste({
  cannot,
  take,
}: {
  cannot: string | null;
  take: (set: Record<string, string>) => void;
}) {
  const [isOpen, setOpen] = useState(false);
  const [text, setText] = useState('');
  const { set, oddLines } = parseEnv(text);
  // Common in such files, and not to be set.
  const passedOver = Object.keys(set).filter((name) => envNamesReserved.test(name));
  const taken = Object.entries(set).filter(([name]) => !envNamesReserved.test(name));

  function close() {
    setOpen(false);
    setText('');
  }

  return (
    <>
      <MayButton
        variant="default"
        why={cannot}
        leftSection={<IconClipboardText size={16} aria-hidden />}
        onClick={() => setOpen(true)}
      >
        Paste a .env text
      </MayButton>
      <Modal
        opened={isOpen}
        onClose={close}
        title="Paste a .env text"
        size="lg"
        closeButtonProps={{ 'aria-label': 'Close' }}
      >
        <Stack>
          <Textarea
            label="Lines of NAME=value"
            description="Comments, export and quotes are understood, as the command line does with --from-file."
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
            minRows={8}
            maxRows={20}
            autosize
            data-autofocus
            classNames={{ input: 'mono' }}
            autoComplete="off"
            spellCheck={false}
          />
          {passedOver.length > 0 && (
            <Alert color="blue">Passed over, since the platform gives them: {passedOver.join(', ')}.</Alert>
          )}
          {oddLines.length > 0 && (
            <Alert color="yellow">Not understood and left out: line {oddLines.join(', ')}.</Alert>
          )}
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              Back
            </Button>
            <MayButton
              why={taken.length === 0 ? 'There is no variable in it yet.' : null}
              onClick={() => {
                take(Object.fromEntries(taken));
                close();
              }}
            >
              {`Take over ${taken.length} ${taken.length === 1 ? 'variable' : 'variables'}`}
            </MayButton>
          </Group>
        </Stack>
      </Modal>
    </>
  );
}
