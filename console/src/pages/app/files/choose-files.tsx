import { Group, Text } from '@mantine/core';
import { type ReactNode, useRef } from 'react';
import { MayButton } from '../../../parts/may-button.tsx';
import { type ChosenFile, chosenFiles } from './chosen-files.ts';

/** For who does not drop: the button that opens the browser's own dialog, and what may be dropped beside it. */
export function ChooseFiles({
  what,
  verb,
  label,
  icon,
  why,
  onFiles,
  children,
}: {
  what: 'files' | 'folder';
  /** On the button. */
  verb: string;
  /** Of the field itself. */
  label: string;
  icon: ReactNode;
  why: string | null;
  onFiles: (files: ChosenFile[]) => void;
  children: ReactNode;
}) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <Group gap="md">
        <MayButton variant="default" why={why} leftSection={icon} onClick={() => input.current?.click()}>
          {verb}
        </MayButton>
        <Text size="sm" c="dimmed">
          {children}
        </Text>
      </Group>
      <input
        ref={input}
        type="file"
        hidden
        multiple
        aria-label={label}
        {...(what === 'folder' ? { webkitdirectory: '' } : {})}
        onChange={({ currentTarget }) => {
          if (currentTarget.files?.length) onFiles(chosenFiles(currentTarget.files));
          // The same ones can be chosen again.
          currentTarget.value = '';
        }}
      />
    </>
  );
}
