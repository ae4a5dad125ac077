import { Group, List, Progress, Stack, Text } from '@mantine/core';
import { signUpload } from '@svc/contract/storage.ts';
import { IconUpload } from '@tabler/icons-react';
import { useState } from 'react';
import { ActionButton } from '../../../components/buttons.tsx';
import { formatBytes, percent } from '../../../components/format.ts';
import { ProblemAlert } from '../../../components/problem-alert.tsx';
import { SecondaryButton, SmallButton } from '../../../components/text.tsx';
import { DropArea, type SelectedFile, SelectFiles } from '../files/select-files.tsx';
import { whyNotActive } from '../rules.ts';
import { useApp } from '../use-app.tsx';
import { type Upload, useUploads } from './use-uploads.ts';

const filesMax = 200;
const namedMax = 10;

export function UploadFiles({ prefix }: { prefix: string }) {
  const { app, why } = useApp();
  const [chosen, setChosen] = useState<{ prefix: string; files: readonly SelectedFile[] }>({
    prefix,
    files: [],
  });
  const files = chosen.prefix === prefix ? chosen.files : [];
  const setFiles = (some: readonly SelectedFile[]) => setChosen({ prefix, files: some });
  const { uploads, sign, stop, clear } = useUploads(prefix);
  const reason = why(signUpload) ?? whyNotActive(app);
  const isSending = uploads.some(({ state }) => state === 'sending');
  const choose = (some: readonly SelectedFile[]) => {
    sign.clear();
    clear();
    setFiles(some);
  };
  const bytes = files.reduce((sum, { file }) => sum + file.size, 0);
  return (
    <DropArea onFiles={choose} isOff={reason !== null || isSending}>
      <Stack gap="sm">
        <SelectFiles
          what="files"
          verb="Choose files"
          label="Files to upload"
          icon={IconUpload}
          why={reason ?? (isSending ? 'Files are being uploaded.' : null)}
          onFiles={choose}
        >
          or drop them here to upload to {prefix === '' ? 'the top level' : prefix}
        </SelectFiles>
        {files.length > 0 && (
          <Stack gap="xs">
            <Text>
              {files.length === 1 ? '1 file' : `${files.length} files`}, {formatBytes(bytes)}:
            </Text>
            <List size="sm">
              {files.slice(0, namedMax).map(({ path, file }) => (
                <List.Item key={path}>
                  {prefix + path} ({formatBytes(file.size)})
                </List.Item>
              ))}
              {files.length > namedMax && <List.Item>and {files.length - namedMax} more</List.Item>}
            </List>
            <Group>
              <ActionButton
                variant="filled"
                why={files.length > filesMax ? `Select at most ${filesMax} files.` : null}
                loading={sign.isBusy}
                onClick={async () => {
                  if (await sign.propose(files)) setFiles([]);
                }}
              >
                Upload
              </ActionButton>
              <SecondaryButton onClick={() => setFiles([])}>Cancel</SecondaryButton>
            </Group>
          </Stack>
        )}
        <ProblemAlert error={sign.problem} />
        <UploadList uploads={uploads} stop={stop} clear={clear} />
      </Stack>
    </DropArea>
  );
}

function UploadList({
  uploads,
  stop,
  clear,
}: {
  uploads: readonly Upload[];
  stop: () => void;
  clear: () => void;
}) {
  if (uploads.length === 0) return null;
  const isUnderWay = uploads.some(({ state }) => state === 'sending');
  return (
    <Stack gap="xs" aria-label="Uploads" role="group">
      {uploads.map((upload) => (
        <Stack key={upload.key} gap={2}>
          <Group justify="space-between" gap="xs">
            <Text size="sm" className="mono" miw={0}>
              {upload.key}
            </Text>
            <Text size="sm">{uploadStateText(upload)}</Text>
          </Group>
          <Progress.Root size="sm">
            <Progress.Section
              value={percent(upload.sent, upload.size)}
              color={upload.state === 'failed' ? 'red' : undefined}
              aria-label={`Upload of ${upload.key}`}
            />
          </Progress.Root>
          <ProblemAlert error={upload.problem} />
        </Stack>
      ))}
      <Group>
        {isUnderWay ? (
          <SmallButton onClick={stop}>Stop</SmallButton>
        ) : (
          <SmallButton onClick={clear}>Hide</SmallButton>
        )}
      </Group>
    </Stack>
  );
}

function uploadStateText({ state, sent, size }: Upload): string {
  if (state === 'sending') return `${formatBytes(sent)} of ${formatBytes(size)}`;
  return { done: 'uploaded', stopped: 'stopped', failed: 'failed' }[state];
}
