import { Divider, FileInput, Group, Stack, Text, Textarea } from '@mantine/core';
import { useState } from 'react';
import { randomKey } from '../../../../api/client.ts';
import { ActionButton } from '../../../../components/buttons.tsx';
import { Dialog } from '../../../../components/dialog.tsx';
import { SecondaryButton } from '../../../../components/text.tsx';
import { useTable } from '../use-table.ts';
import { ImportCheck } from './import-check.tsx';
import { detectFormat, type ImportFormat } from './records.ts';

export interface ImportSource {
  key: string;
  blob: Blob;
  name: string;
  format: ImportFormat;
}

export function ImportDialog({ onClose, onStored }: { onClose: () => void; onStored: () => void }) {
  const { table } = useTable();
  const [source, setSource] = useState<ImportSource | null>(null);
  return (
    <Dialog onClose={onClose} title={`Import rows into ${table.name}`} size="xl" isBusy>
      {source ? (
        <ImportCheck source={source} onBack={() => setSource(null)} onClose={onClose} onStored={onStored} />
      ) : (
        <ImportChoice onChosen={setSource} onClose={onClose} />
      )}
    </Dialog>
  );
}

const beginningBytes = 1_000;

function ImportChoice({
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
      key: randomKey(),
      blob,
      name: name || 'Pasted text',
      format: detectFormat(name, await blob.slice(0, beginningBytes).text()),
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
          CSV with column names in the first line, or JSON lines with one object per line. In CSV an empty
          field is null, or the default of a column that is not nullable; "" is an empty text.
        </Text>
        <FileInput
          label="File"
          placeholder="Choose a file"
          accept=".csv,.jsonl,.ndjson,.json,text/csv,application/x-ndjson"
          value={file}
          onChange={setFile}
          clearable
          clearButtonProps={{ 'aria-label': 'Remove file' }}
        />
        <Divider label="or" />
        <Textarea
          label="Paste rows"
          placeholder={'title,done\nBuy milk,false'}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          disabled={file !== null}
          description={file === null ? undefined : 'Remove the file to paste rows.'}
          minRows={4}
          maxRows={12}
          classNames={{ input: 'mono' }}
        />
        <Group justify="flex-end">
          <SecondaryButton onClick={onClose}>Cancel</SecondaryButton>
          <ActionButton
            variant="filled"
            type="submit"
            why={isReady ? null : 'Choose a file or paste rows first.'}
            onClick={() => {}}
          >
            Preview
          </ActionButton>
        </Group>
      </Stack>
    </form>
  );
}
