import { Accordion, Code, Group, Stack, Text } from '@mantine/core';
import type { Answer } from '@svc/contract/endpoint.ts';
import type { listAuditEntries } from '@svc/contract/tenants.ts';
import { CopyText } from './buttons.tsx';
import { DataTable, DetailTable } from './data-table.tsx';
import { TimeText } from './display.tsx';
import { Hint, Mono, SmallButton } from './text.tsx';
import { useUrlValue } from './url-state.ts';

type AuditEntry = Answer<NonNullable<typeof listAuditEntries.shape>>['items'][number];

export function AuditEntries({
  entries,
  order,
  showAction,
  showTarget,
}: {
  entries: readonly AuditEntry[];
  order?: 3;
  showAction: (action: string) => void;
  showTarget: (id: string) => void;
}) {
  const [open, setOpen] = useUrlValue('entry');
  return (
    <Accordion
      variant="contained"
      order={order}
      value={open === '' ? null : open}
      onChange={(next) => setOpen(next ?? '')}
      keepMounted={false}
      aria-label="Audit entries"
    >
      {entries.map((entry) => (
        <AuditItem
          key={entry.seq}
          entry={entry}
          showAction={() => showAction(entry.action)}
          showTarget={() => showTarget(entry.target.id)}
        />
      ))}
    </Accordion>
  );
}

function AuditItem({
  entry,
  showAction,
  showTarget,
}: {
  entry: AuditEntry;
  showAction: () => void;
  showTarget: () => void;
}) {
  const { seq, at, actor, action, target, changes, request_id: requestId, hash } = entry;
  return (
    <Accordion.Item value={String(seq)}>
      <Accordion.Control>
        <Group gap="xs">
          <Mono fw={600}>{action}</Mono>
          <Text span size="sm">
            {target.kind.replaceAll('_', ' ')} {target.name || target.id}
          </Text>
          <Hint span>
            by {actor.name || actor.kind}, <time dateTime={at}>{new Date(at).toLocaleString()}</time>
          </Hint>
        </Group>
      </Accordion.Control>
      <Accordion.Panel>
        <Stack>
          <AuditChanges changes={changes} />
          <DetailTable
            label={`Entry ${seq}`}
            details={{
              Number: seq,
              When: <TimeText value={at} />,
              Who: (
                <Stack gap={2}>
                  {actor.name || actor.kind} ({actor.kind})
                  {actor.id && <CopyText value={actor.id} label="actor id" size="xs" />}
                </Stack>
              ),
              What: (
                <Stack gap={2}>
                  {target.kind} {target.name}
                  {target.id && <CopyText value={target.id} label="target id" size="xs" />}
                </Stack>
              ),
              'Request id': <CopyText value={requestId} label="request id" size="xs" />,
              Hash: <CopyText value={hash} label="hash" size="xs" />,
            }}
          />
          <Group gap="xs">
            <SmallButton onClick={showAction}>Only {action}</SmallButton>
            {target.id && (
              <SmallButton onClick={showTarget}>Only this {target.kind.replaceAll('_', ' ')}</SmallButton>
            )}
          </Group>
        </Stack>
      </Accordion.Panel>
    </Accordion.Item>
  );
}

/** Values are shown in full: people search the log for exact text. */
function AuditChanges({ changes }: { changes: AuditEntry['changes'] }) {
  if (changes.length === 0) return <Text size="sm">No field changed.</Text>;
  return (
    <DataTable
      label="Changes"
      minWidth={480}
      verticalSpacing={6}
      rows={changes}
      keyOf={({ path }) => path}
      columns={[
        { head: 'Field', cell: ({ path }) => path, td: { className: 'mono' } },
        { head: 'Before', cell: ({ before }) => <AuditValue value={before} /> },
        { head: 'After', cell: ({ after }) => <AuditValue value={after} /> },
      ]}
    />
  );
}

function AuditValue({ value }: { value: unknown }) {
  if (value === null || value === undefined) return <>none</>;
  return <Code>{typeof value === 'string' ? value || '""' : JSON.stringify(value)}</Code>;
}
