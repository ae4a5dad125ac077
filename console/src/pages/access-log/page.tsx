import { Code, Group, Stack, Text, TextInput } from '@mantine/core';
import { accessLogRetentionDays, listAccessLog } from '@svc/contract/access-log.ts';
import { client } from '../../api/client.ts';
import { useTenant } from '../../api/me.ts';
import { DataTable } from '../../components/data-table.tsx';
import { TimeText } from '../../components/display.tsx';
import { EmptyState, PageHead } from '../../components/page-layout.tsx';
import { CursorList, useCursorPages } from '../../components/query-view.tsx';
import { useUrlText } from '../../components/url-state.ts';

const filters = [
  ['user', 'Reader', 'ada@example.com'],
  ['connector', 'Connector', 'warehouse'],
  ['app', 'App', 'lunch'],
  ['path', 'Path', 'sales/orders'],
] as const;

/** Admins see all entries; owners of a connector those of their connector. */
export default function AccessLogPage() {
  const tenant = useTenant();
  const texts = {
    user: useUrlText('user'),
    connector: useUrlText('connector'),
    app: useUrlText('app'),
    path: useUrlText('path'),
  };
  const query = Object.fromEntries(filters.map(([name]) => [name, texts[name][2] || undefined]));
  const params = { tenantID: tenant.id };
  const pages = useCursorPages([listAccessLog.id, params, query], (cursor, signal) =>
    client.call(listAccessLog, { params, query: { ...query, ...cursor } }, { signal }),
  );
  return (
    <>
      <PageHead
        title="Access log"
        lead={`Reads of governed data of the last ${accessLogRetentionDays} days: who read what, never the values.`}
      />
      <Stack>
        <Group align="flex-end" gap="sm">
          {filters.map(([name, label, placeholder]) => (
            <TextInput
              key={name}
              label={label}
              placeholder={placeholder}
              value={texts[name][0]}
              onChange={(event) => texts[name][1](event.currentTarget.value.trim())}
              maxLength={200}
            />
          ))}
        </Group>
        <CursorList
          pages={pages}
          lines={8}
          empty={
            <EmptyState title="No entries" command="svc access log --all -o csv">
              Each read of data behind a connector, or of a table with rules, is recorded here.
            </EmptyState>
          }
        >
          {(entries) => (
            <DataTable
              label="Reads"
              minWidth={860}
              rows={entries}
              columns={[
                { head: 'Time', cell: (entry) => <TimeText value={entry.at} /> },
                {
                  head: 'Reader',
                  cell: ({ actor_name, through_app_slug }) =>
                    through_app_slug === null ? actor_name : `${actor_name} through ${through_app_slug}`,
                },
                { head: 'Path', cell: (entry) => <Code>{entry.resource_path}</Code> },
                { head: 'Action', cell: (entry) => entry.action },
                { head: 'Rows', cell: (entry) => entry.rows },
                {
                  head: 'Columns',
                  cell: (entry) => (
                    <Text size="sm" lineClamp={2}>
                      {entry.columns
                        .map((name) => (entry.masked_columns.includes(name) ? `${name} (masked)` : name))
                        .join(', ')}
                    </Text>
                  ),
                },
              ]}
            />
          )}
        </CursorList>
      </Stack>
    </>
  );
}
