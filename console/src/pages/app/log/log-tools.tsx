import { ActionIcon, Group, Switch, Text, TextInput, Tooltip } from '@mantine/core';
import { useClipboard } from '@mantine/hooks';
import { IconCheck, IconCopy, IconDownload, IconSearch } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { downloadText } from '../../../parts/download-text.ts';
import { type KeptLine, linesText } from './log-line.ts';

/** What one does with lines: search them, take them along. */
export function LogTools({
  words,
  setWords,
  isWrapped,
  setWrapped,
  shown,
  total,
  fileName,
  children,
}: {
  words: string;
  setWords: (words: string) => void;
  isWrapped: boolean;
  setWrapped: (isWrapped: boolean) => void;
  shown: readonly KeptLine[];
  total: number;
  fileName: string;
  children?: ReactNode;
}) {
  const clipboard = useClipboard();
  return (
    <Group gap="sm" align="flex-end">
      <TextInput
        label="Search"
        placeholder="Words in a line"
        type="search"
        leftSection={<IconSearch size={16} aria-hidden />}
        value={words}
        onChange={(event) => setWords(event.currentTarget.value)}
        style={{ flex: '1 1 12rem' }}
      />
      {children}
      <Group gap="sm" h={36}>
        <Switch
          label="Wrap lines"
          checked={isWrapped}
          onChange={(event) => setWrapped(event.currentTarget.checked)}
        />
        <Tooltip label={clipboard.copied ? 'Copied' : 'Copy these lines'}>
          <ActionIcon
            variant="default"
            size="lg"
            aria-label="Copy these lines"
            onClick={() => clipboard.copy(linesText(shown))}
          >
            {clipboard.copied ? <IconCheck size={16} aria-hidden /> : <IconCopy size={16} aria-hidden />}
          </ActionIcon>
        </Tooltip>
        <Tooltip label="Download these lines">
          <ActionIcon
            variant="default"
            size="lg"
            aria-label="Download these lines"
            onClick={() => downloadText(fileName, linesText(shown))}
          >
            <IconDownload size={16} aria-hidden />
          </ActionIcon>
        </Tooltip>
        <Text size="sm" c="dimmed">
          {shown.length === total
            ? `${total.toLocaleString('en')} lines`
            : `${shown.length.toLocaleString('en')} of ${total.toLocaleString('en')} lines`}
        </Text>
      </Group>
    </Group>
  );
}
