import { Modal, Stack, Textarea } from '@mantine/core';
import { promotionTextCharsMax } from '@svc/contract/static-sites.ts';
import { useState } from 'react';
import { PreviewBar } from '../../../parts/preview-bar.tsx';

/** Asks for a few words that go with a change, then shows what it would do. */
export function WordsDialog({
  title,
  label,
  isRequired = false,
  change,
  propose,
  close,
}: {
  title: string;
  label: string;
  isRequired?: boolean;
  change: { isBusy: boolean; problem: unknown; clear(): void };
  /** Resolves when the preview is shown, or refused. */
  propose: (words: string) => Promise<boolean>;
  close: () => void;
}) {
  const [words, setWords] = useState('');
  const leave = () => {
    change.clear();
    close();
  };
  return (
    <Modal opened onClose={leave} title={title} closeButtonProps={{ 'aria-label': 'Close' }}>
      <form
        onSubmit={async (event) => {
          event.preventDefault();
          if (await propose(words.trim())) close();
        }}
      >
        <Stack>
          <Textarea
            label={label}
            value={words}
            onChange={(event) => setWords(event.currentTarget.value)}
            maxLength={promotionTextCharsMax}
            required={isRequired}
            autosize
            minRows={3}
            data-autofocus
          />
          <PreviewBar change={change} onCancel={leave} />
        </Stack>
      </form>
    </Modal>
  );
}
