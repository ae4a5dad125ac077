import { Alert, Stack, Table, Text } from '@mantine/core';
import { ProblemAlert } from '../../../../parts/problem-alert.tsx';
import { RefusedLines } from './send-records.ts';

const shownMax = 20;

/** Why an import ended before its end, and where in the file. */
export function ImportFailure({ error }: { error: unknown }) {
  if (error instanceof DOMException && error.name === 'AbortError') {
    return (
      <Alert color="yellow">Stopped. What is stored stays; what was on its way may be stored as well.</Alert>
    );
  }
  if (error instanceof TypeError && /encod|decod/i.test(error.message)) {
    return <Alert color="red">The file is not a text in UTF-8.</Alert>;
  }
  if (!(error instanceof RefusedLines)) return <ProblemAlert error={error} />;
  const more = error.faults.length - shownMax;
  return (
    <Alert color="red" title="Some lines were refused" role="alert">
      <Stack gap="xs">
        <Text size="sm">Nothing of their batch is stored, and nothing behind it was sent.</Text>
        <Table aria-label="Refused lines" verticalSpacing={4}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Line</Table.Th>
              <Table.Th>Column</Table.Th>
              <Table.Th>What is wrong</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {error.faults.slice(0, shownMax).map(({ line, column, detail }) => (
              <Table.Tr key={`${line} ${column} ${detail}`}>
                <Table.Td>{line}</Table.Td>
                <Table.Td>{column ?? '–'}</Table.Td>
                <Table.Td>{detail}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
        {more > 0 && <Text size="sm">and {more} more</Text>}
        {error.problem !== null && <ProblemAlert error={error.problem} />}
      </Stack>
    </Alert>
  );
}
