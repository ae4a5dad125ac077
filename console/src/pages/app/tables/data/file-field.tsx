import { Anchor, FileInput, type TextInputProps } from '@mantine/core';
import { type FileType, fileLimits } from '@svc/contract/file-type.ts';
import { useState } from 'react';
import { useTable } from '../use-table.ts';
import { uploadFile } from './rows-api.ts';

const nameOf = (value: string): string => {
  try {
    return String(JSON.parse(value).name ?? value);
  } catch {
    return value;
  }
};

/** An invalid value, so that nothing is saved before the upload is done. */
const uploadingText = 'Uploading …';

/** Uploads the chosen file at once; the row gets it when it is saved. */
export function FileField({
  type,
  column,
  text,
  onText,
  error,
  ...rest
}: {
  type: FileType;
  column: string;
  text: string;
  onText: (text: string) => void;
} & Pick<TextInputProps, 'label' | 'aria-label' | 'description' | 'error'>) {
  const { path } = useTable();
  const [state, setState] = useState<{ isBusy: boolean; problem: string | null }>({
    isBusy: false,
    problem: null,
  });
  const { types } = fileLimits(type);
  async function choose(file: File | null) {
    if (!file) return;
    setState({ isBusy: true, problem: null });
    onText(uploadingText);
    try {
      onText(await uploadFile(path, column, file));
      setState({ isBusy: false, problem: null });
    } catch (cause) {
      onText(text);
      setState({ isBusy: false, problem: cause instanceof Error ? cause.message : 'The upload failed.' });
    }
  }
  return (
    <FileInput
      {...rest}
      accept={types.join(',')}
      value={null}
      placeholder={text === '' ? 'Choose a file' : nameOf(text)}
      disabled={state.isBusy}
      error={state.problem ?? error}
      onChange={(file) => void choose(file)}
      data-autofocus
    />
  );
}

export function FileLink({
  path,
  row,
  column,
  value,
}: {
  path: string;
  row: string;
  column: string;
  value: string;
}) {
  return (
    <Anchor size="sm" href={`${path}/${encodeURIComponent(row)}/_files/${column}`} download>
      {nameOf(value)}
    </Anchor>
  );
}
