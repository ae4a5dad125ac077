import { Modal, Stack, Text } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { useSearchParams } from 'wouter';
import { FileCompare } from './file-compare.tsx';
import type { FileDiff } from './file-table.tsx';
import type { ReleaseView } from './release-view.ts';

/** One file, as the address names it. */
export function FileDialog({
  release,
  against,
  items,
}: {
  release: string;
  against: ReleaseView | null;
  items: readonly FileDiff[];
}) {
  const [search, setSearch] = useSearchParams();
  const path = search.get('file') ?? '';
  const close = () =>
    setSearch(
      (before) => {
        const after = new URLSearchParams(before);
        after.delete('file');
        return after;
      },
      { replace: true },
    );
  const isNarrow = useMediaQuery('(max-width: 48em)') ?? false;
  const item = items.find((each) => each.path === path);
  return (
    <Modal
      opened={path !== ''}
      onClose={close}
      title={path}
      size="70rem"
      fullScreen={isNarrow}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      {item ? (
        <FileCompare release={release} against={against} item={item} />
      ) : (
        <Stack>
          <Text>This file is not among those that are shown. Choose “all files” and open it again.</Text>
        </Stack>
      )}
    </Modal>
  );
}
