import { Group, Paper, type PaperProps } from '@mantine/core';
import { type ComponentProps, type ReactNode, useRef, useState } from 'react';
import { ActionButton } from '../../../components/buttons.tsx';
import { Hint } from '../../../components/text.tsx';

export function SelectFiles({
  what,
  verb,
  label,
  icon,
  why,
  onFiles,
  children,
}: {
  what: 'files' | 'folder';
  verb: string;
  label: string;
  icon: ComponentProps<typeof ActionButton>['icon'];
  why: string | null;
  onFiles: (files: SelectedFile[]) => void;
  children: ReactNode;
}) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <Group gap="md">
        <ActionButton why={why} icon={icon} onClick={() => input.current?.click()}>
          {verb}
        </ActionButton>
        <Hint>{children}</Hint>
      </Group>
      <input
        ref={input}
        type="file"
        hidden
        multiple
        aria-label={label}
        {...(what === 'folder' && { webkitdirectory: '' })}
        onChange={({ currentTarget }) => {
          if (currentTarget.files?.length) onFiles(selectedFiles(currentTarget.files));
          // Allows the same files to be selected again.
          currentTarget.value = '';
        }}
      />
    </>
  );
}

export function DropArea({
  onFiles,
  isOff = false,
  children,
  ...rest
}: PaperProps & { onFiles: (files: SelectedFile[]) => void; isOff?: boolean; children: ReactNode }) {
  const [isOver, setOver] = useState(false);
  return (
    <Paper
      withBorder
      p="md"
      {...rest}
      style={{
        borderStyle: 'dashed',
        borderColor: isOver ? 'var(--mantine-primary-color-filled)' : undefined,
        borderWidth: isOver ? 2 : undefined,
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

export interface SelectedFile {
  path: string;
  file: File;
}

/** With `webkitdirectory` each path starts with the selected folder. */
function selectedFiles(list: Iterable<File>): SelectedFile[] {
  return [...list].map((file) => ({
    path: file.webkitRelativePath === '' ? file.name : withoutTopFolder(file.webkitRelativePath),
    file,
  }));
}

async function droppedFiles(data: DataTransfer): Promise<SelectedFile[]> {
  // Read synchronously: the browser empties the list at the first await.
  const entries = [...data.items].flatMap((item) => item.webkitGetAsEntry() ?? []);
  const found = (await Promise.all(entries.map(filesBelow))).flat();
  const [only] = entries;
  return entries.length === 1 && only?.isDirectory
    ? found.map(({ path, file }) => ({ path: withoutTopFolder(path), file }))
    : found;
}

async function filesBelow(entry: FileSystemEntry): Promise<SelectedFile[]> {
  if (entry.isFile) {
    const { promise, resolve, reject } = Promise.withResolvers<File>();
    (entry as FileSystemFileEntry).file(resolve, reject);
    return [{ path: entry.fullPath.slice(1), file: await promise }];
  }
  const found: SelectedFile[] = [];
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  for (;;) {
    const { promise, resolve, reject } = Promise.withResolvers<FileSystemEntry[]>();
    reader.readEntries(resolve, reject);
    const some = await promise;
    if (some.length === 0) return found;
    for (const each of some) found.push(...(await filesBelow(each)));
  }
}

function withoutTopFolder(path: string): string {
  return path.slice(path.indexOf('/') + 1);
}
