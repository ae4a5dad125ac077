import { Paper, type PaperProps } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { type ChosenFile, droppedFiles } from './chosen-files.ts';

/** Takes what is dropped on it. It holds a button that does the same, for who uses the keyboard. */
export function DropArea({
  onFiles,
  isOff = false,
  children,
  ...rest
}: PaperProps & { onFiles: (files: ChosenFile[]) => void; isOff?: boolean; children: ReactNode }) {
  const [isOver, setOver] = useState(false);
  return (
    <Paper
      withBorder
      p="md"
      {...rest}
      style={{
        borderStyle: 'dashed',
        ...(isOver ? { borderColor: 'var(--mantine-primary-color-filled)', borderWidth: 2 } : {}),
      }}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(!isOff);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        if (!isOff) void droppedFiles(event.dataTransfer).then(onFiles);
      }}
    >
      {children}
    </Paper>
  );
}
