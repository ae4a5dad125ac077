import { Box, Table } from '@mantine/core';
import type { Chart, ChartRow } from './figures.ts';

/** Every point of a chart, the newest first. */
export function MetricTable({ chart, rows }: { chart: Chart; rows: readonly ChartRow[] }) {
  return (
    <Box h={260} style={{ overflow: 'auto' }} tabIndex={0} role="region" aria-label={`${chart.title}, table`}>
      <Table stickyHeader verticalSpacing={4} aria-label={chart.title}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Time</Table.Th>
            {chart.series.map(({ name }) => (
              <Table.Th key={name} ta="right">
                {name}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.toReversed().map(({ at, label, values }) => (
            <Table.Tr key={at}>
              <Table.Td>
                <time dateTime={at}>{label}</time>
              </Table.Td>
              {values.map((value, place) => (
                <Table.Td key={chart.series[place]?.name} ta="right">
                  {value === null ? '–' : chart.format(value)}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Box>
  );
}
