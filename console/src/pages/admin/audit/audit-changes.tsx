import { Code, Table, Text } from '@mantine/core';
import type { AuditEntry } from './audit-item.tsx';

/** Before and after, in full: the log is where people look for the very letters. */
export function AuditChanges({ changes }: { changes: AuditEntry['changes'] }) {
  if (changes.length === 0) return <Text size="sm">No field was changed.</Text>;
  return (
    <Table.ScrollContainer minWidth={480}>
      <Table aria-label="Changes" verticalSpacing={6}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Field</Table.Th>
            <Table.Th>Before</Table.Th>
            <Table.Th>After</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {changes.map((change) => (
            <Table.Tr key={change.path}>
              <Table.Td className="mono">{change.path}</Table.Td>
              <Table.Td>
                <Value value={change.before} />
              </Table.Td>
              <Table.Td>
                <Value value={change.after} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

function Value({ value }: { value: unknown }) {
  if (value === null || value === undefined) return <>none</>;
  return <Code>{typeof value === 'string' ? value || '""' : JSON.stringify(value)}</Code>;
}
