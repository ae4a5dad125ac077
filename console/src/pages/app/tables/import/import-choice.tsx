import { Button, Divider, FileInput, Group, Stack, Text, Textarea } from '@mantine/core';
import { useState } from 'react';
import { newKey } from '../../../../api/new-key.ts';
import { MayButton } from '../../../../parts/may-button.tsx';
import type { ImportSource } from './import-dialog.tsx';
import { formatOf } from './source-records.ts';

const beginningBytes = 1_000;

export function ImportChoice({
  onChosen,
  onClose,
}: {
  onChosen: (source: ImportSource) => void;
  onClose: () => void;
}) {
  const [file, setFile] = useState<File | null>(null);
  const [text, setText] = useState('');
  const isReady = file !== null || text.trim() !== '';

  async function choose() {
    const blob = file ?? new Blob([text]);
    const name = file?.name ?? '';
    onChosen({
      key: newKey(),
      blob,
      name: name || 'the pasted text',
      format: formatOf(name, await blob.slice(0, beginningBytes).text()),
    });
  }

  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (isReady) void choose();
      }}
    >
      <Stack>
        <Text size="sm">
          CSV with the names of the columns in its first line, or JSON lines: one object per line. In CSV an
          empty field is null, or the default of a column that may not be null; "" is an empty text.
        </Text>
        <FileInput
          label="File"
          placeholder="Choose a file"
          accept=".csv,.jsonl,.ndjson,.json,text/csv,application/x-ndjson"
          value={file}
          onChange={setFile}
          clearable
          clearButtonProps={{ 'aria-label': 'Take another file' }}
        />
        <Divider label="or" />
        <Textarea
          label="Paste rows"
          placeholder={'title,done\nBuy milk,false'}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          disabled={file !== null}
          description={file === null ? undefined : 'The file is taken; take it away to paste rows.'}
          autosize
          minRows={4}
          maxRows={12}
          classNames={{ input: 'mono' }}
        />
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <MayButton
            type="submit"
            why={isReady ? null : 'Choose a file or paste rows first.'}
            onClick={() => {}}
          >
            Look at it
          </MayButton>
        </Group>
      </Stack>
    </form>
  );
}
