import { Button, Group, List, Stack, Text } from '@mantine/core';
import { signUpload } from '@svc/contract/storage.ts';
import { IconUpload } from '@tabler/icons-react';
import { useState } from 'react';
import { MayButton } from '../../../parts/may-button.tsx';
import { ProblemAlert } from '../../../parts/problem-alert.tsx';
import { readableBytes } from '../../../parts/readable-bytes.ts';
import { ChooseFiles } from '../files/choose-files.tsx';
import type { ChosenFile } from '../files/chosen-files.ts';
import { DropArea } from '../files/drop-area.tsx';
import { useApp } from '../use-app.ts';
import { whyNotActive } from '../why-not-active.ts';
import { UploadList } from './upload-list.tsx';
import { useUploads } from './use-uploads.ts';

/** Each is previewed by itself: more than these at once would take long. */
const filesMax = 200;
const namedMax = 10;

export function UploadFiles({ prefix }: { prefix: string }) {
  const { app, why } = useApp();
  const [chosen, setChosen] = useState<{ prefix: string; files: readonly ChosenFile[] }>({
    prefix,
    files: [],
  });
  // Chosen for one folder, they are not for the next.
  const files = chosen.prefix === prefix ? chosen.files : [];
  const setFiles = (some: readonly ChosenFile[]) => setChosen({ prefix, files: some });
  const { uploads, sign, stop, clear } = useUploads(prefix);
  const reason = why(signUpload) ?? whyNotActive(app);
  const isSending = uploads.some(({ state }) => state === 'sending');
  const choose = (some: readonly ChosenFile[]) => {
    sign.clear();
    clear();
    setFiles(some);
  };
  const bytes = files.reduce((sum, { file }) => sum + file.size, 0);
  return (
    <DropArea onFiles={choose} isOff={reason !== null || isSending}>
      <Stack gap="sm">
        <ChooseFiles
          what="files"
          verb="Choose files"
          label="Files to upload"
          icon={<IconUpload size={16} aria-hidden />}
          why={reason ?? (isSending ? 'Files are being uploaded.' : null)}
          onFiles={choose}
        >
          or drop them here, to go to {prefix === '' ? 'the top' : prefix}
        </ChooseFiles>
        {files.length > 0 && (
          <Stack gap="xs">
            <Text>
              {files.length === 1 ? '1 file' : `${files.length} files`}, {readableBytes(bytes)}:
            </Text>
            <List size="sm">
              {files.slice(0, namedMax).map(({ path, file }) => (
                <List.Item key={path}>
                  {prefix + path} ({readableBytes(file.size)})
                </List.Item>
              ))}
              {files.length > namedMax && <List.Item>and {files.length - namedMax} more</List.Item>}
            </List>
            <Group>
              <MayButton
                why={files.length > filesMax ? `Choose ${filesMax} files at most.` : null}
                loading={sign.isBusy}
                onClick={async () => {
                  if (await sign.propose(files)) setFiles([]);
                }}
              >
                Upload
              </MayButton>
              <Button variant="default" onClick={() => setFiles([])}>
                Do not upload
              </Button>
            </Group>
          </Stack>
        )}
        {sign.problem !== null && <ProblemAlert error={sign.problem} />}
        <UploadList uploads={uploads} stop={stop} clear={clear} />
      </Stack>
    </DropArea>
  );
}
