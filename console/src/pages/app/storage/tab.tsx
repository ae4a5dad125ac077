import { Anchor, Breadcrumbs, Group, Progress, Stack, Text } from '@mantine/core';
import { enableStorage, getStorage, listObjects, objectListLimitDefault } from '@svc/contract/storage.ts';
import { useState } from 'react';
import { Link } from 'wouter';
import { client } from '../../../api/client.ts';
import { useEndpoint } from '../../../api/use-endpoint.ts';
import { useChange } from '../../../change/use-change.ts';
import { ChangeButton } from '../../../components/buttons.tsx';
import { formatBytes, percent } from '../../../components/format.ts';
import { EmptyState } from '../../../components/page-layout.tsx';
import { ProblemAlert } from '../../../components/problem-alert.tsx';
import { CursorList, QueryView, useCursorPages } from '../../../components/query-view.tsx';
import { useUrlValue } from '../../../components/url-state.ts';
import { whyNotActive } from '../rules.ts';
import { restrictedTab, useApp } from '../use-app.tsx';
import { breadcrumbs, folderHref } from './folder-paths.ts';
import { ObjectDialog } from './object-dialog.tsx';
import { ObjectTable, type StorageInfo, type StoredObject } from './object-table.tsx';
import { UploadFiles } from './upload-files.tsx';

export default restrictedTab(getStorage, 'the storage of this app', Storage);

function Storage() {
  const { params, why } = useApp();
  const answer = useEndpoint(getStorage, { params });
  const reason = why(listObjects);
  return (
    <QueryView answer={answer}>
      {(storage) => {
        if (!storage.enabled) return <EnableStorage />;
        return (
          <>
            <StorageUse storage={storage} />
            {reason === null ? (
              <StorageBrowser />
            ) : (
              <EmptyState title="You can see the usage but no files">
                {reason.replace('do this', 'view the files')} Tenant admins see only the usage.
              </EmptyState>
            )}
          </>
        );
      }}
    </QueryView>
  );
}

function EnableStorage() {
  const { app, params, why } = useApp();
  const change = useChange(enableStorage, { title: 'Enable storage', done: 'Storage enabled.' });
  const notActive = whyNotActive(app);
  return (
    <Stack>
      <EmptyState
        title="Storage is not enabled"
        command={`svc apps storage enable --app ${app.slug} --execute`}
        action={
          <ChangeButton
            variant="filled"
            why={why(enableStorage) ?? notActive}
            change={change}
            input={{ params }}
          >
            Enable storage
          </ChangeButton>
        }
      >
        Storage holds files under keys such as reports/2027/january.pdf: images, exports, anything too large
        for a row. Only the app and its owners have access.
      </EmptyState>
      <ProblemAlert error={change.problem} />
    </Stack>
  );
}

function StorageUse({ storage }: { storage: StorageInfo }) {
  const { objects, bytes, bytes_max: max } = storage;
  return (
    <Stack gap={4} mb="lg">
      <Group justify="space-between" gap="xs">
        <Text size="sm">{objects === 1 ? '1 file' : `${objects} files`}</Text>
        <Text size="sm">
          {formatBytes(bytes)} of {formatBytes(max)}
        </Text>
      </Group>
      <Progress.Root size="sm">
        <Progress.Section value={percent(bytes, max)} aria-label="Used space" />
      </Progress.Root>
    </Stack>
  );
}

type Entry = { folder: string } | { object: StoredObject };

function StorageBrowser() {
  const { app, params } = useApp();
  const [prefix] = useUrlValue('prefix');
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
  return (
    <Stack gap="lg">
      <FolderCrumbs prefix={prefix} />
      <UploadFiles prefix={prefix} />
      <CursorList
        pages={pages}
        lines={6}
        empty={
          <EmptyState
            title={prefix === '' ? 'No files yet' : 'This folder is empty'}
            command={`svc apps storage put report.pdf ${prefix}report.pdf --app ${app.slug} --execute`}
          >
            Choose files above or drop them there. A folder exists while a key starts with its name.
          </EmptyState>
        }
      >
        {(entries) => (
          <ObjectTable
            prefix={prefix}
            folders={entries.flatMap((entry) => ('folder' in entry ? [entry.folder] : []))}
            objects={entries.flatMap((entry) => ('object' in entry ? [entry.object] : []))}
            chosen={chosen}
            choose={setChosen}
          />
        )}
      </CursorList>
      <ObjectDialog />
    </Stack>
  );
}

function FolderCrumbs({ prefix }: { prefix: string }) {
  const crumbs = [{ name: 'All files', prefix: '' }, ...breadcrumbs(prefix)];
  return (
    <nav aria-label="Folders">
      <Breadcrumbs style={{ flexWrap: 'wrap' }}>
        {crumbs.map((crumb, at) =>
          at === crumbs.length - 1 ? (
            <Text key={crumb.prefix} aria-current="page" fw={600}>
              {crumb.name}
            </Text>
          ) : (
            <Anchor key={crumb.prefix} component={Link} href={folderHref(crumb.prefix)}>
              {crumb.name}
            </Anchor>
          ),
        )}
      </Breadcrumbs>
    </nav>
  );
}
