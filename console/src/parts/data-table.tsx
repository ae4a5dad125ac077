import { Table, type TableProps, type TableTdProps, type TableThProps } from '@mantine/core';
import type { ReactNode } from 'react';

export interface Column<T> {
  /** Tells it apart from the others as well. */
  head: string;
  cell: (row: T) => ReactNode;
  th?: TableThProps;
  td?: TableTdProps;
}

/** Records, one a row, each column with its head. Where the page is narrower than `minWidth` it scrolls by itself. */
export function DataTable<T>({
  label,
  minWidth,
  rows,
  keyOf,
  columns,
  highlightOnHover = true,
  verticalSpacing = 'sm',
}: Pick<TableProps, 'highlightOnHover' | 'verticalSpacing'> & {
  /** What it lists, for who does not see it. */
  label: string;
  minWidth: number;
  rows: readonly T[];
  keyOf: (row: T) => string;
  columns: readonly Column<T>[];
}) {
  return (
    <Table.ScrollContainer minWidth={minWidth}>
      <Table highlightOnHover={highlightOnHover} verticalSpacing={verticalSpacing} aria-label={label}>
        <Table.Thead>
          <Table.Tr>
            {columns.map(({ head, th }) => (
              <Table.Th key={head} {...th}>
                {head}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row) => (
            <Table.Tr key={keyOf(row)}>
              {columns.map(({ head, cell, td }) => (
                <Table.Td key={head} {...td}>
                  {cell(row)}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}
