import { Stack } from '@mantine/core';
import { listObjects, objectListLimitDefault } from '@svc/contract/storage.ts';
import { useState } from 'react';
import { client } from '../../../api/client.ts';
import { Placeholder } from '../../../parts/answer-view.tsx';
import { Empty } from '../../../parts/empty.tsx';
import { ProblemAlert } from '../../../parts/problem-alert.tsx';
import { ShowMore } from '../../../parts/show-more.tsx';
import { useCursorPages } from '../../../parts/use-cursor-pages.ts';
import { useSearchValue } from '../../../parts/use-search-value.ts';
import { useApp } from '../use-app.ts';
import { FolderCrumbs } from './folder-crumbs.tsx';
import { ObjectDialog } from './object-dialog.tsx';
import { ObjectTable } from './object-table.tsx';
import type { StoredObject } from './storage-view.ts';
import { UploadFiles } from './upload-files.tsx';

type Entry = { folder: string } | { object: StoredObject };

/** One folder of the storage; which one stands in the address. */
export function StorageBrowser() {
  const { app, params } = useApp();
  const [prefix] = useSearchValue('prefix');
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const pages = useCursorPages([listObjects.id, params, prefix, 'folder'], async (cursor, signal) => {
    const query = { prefix, delimiter: '/', limit: objectListLimitDefault, ...cursor };
    const { items, prefixes, next_cursor } = await client.call(listObjects, { params, query }, { signal });
    const entries: Entry[] = [
      ...prefixes.map((folder) => ({ folder })),
      ...items.map((object) => ({ object })),
    ];
    return { items: entries, next_cursor };
  });
  const entries = pages.items ?? [];
  const folders = entries.flatMap((entry) => ('folder' in entry ? [entry.folder] : []));
  const objects = entries.flatMap((entry) => ('object' in entry ? [entry.object] : []));
  return (
    <Stack gap="lg">
      <FolderCrumbs prefix={prefix} />
      <UploadFiles prefix={prefix} />
      {pages.items === undefined ? (
        pages.error ? (
          <ProblemAlert error={pages.error} retry={pages.retry} />
        ) : (
          <Placeholder lines={6} />
        )
      ) : entries.length === 0 ? (
        <Empty
          title={prefix === '' ? 'No file yet' : 'Nothing is in this folder'}
          command={`svc apps storage put report.pdf ${prefix}report.pdf --app ${app.slug} --execute`}
        >
          Choose files above or drop them there. A folder is there as long as a key begins with its name.
        </Empty>
      ) : (
        <ObjectTable prefix={prefix} folders={folders} objects={objects} chosen={chosen} choose={setChosen} />
      )}
      <ShowMore pages={pages} />
      <ObjectDialog />
    </Stack>
  );
}
