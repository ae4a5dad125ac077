import {
  SimpleGrid,
  type SimpleGridProps,
  Stack,
  Table,
  type TableProps,
  type TableTdProps,
  type TableThProps,
  Text,
  type TextProps,
} from '@mantine/core';
import type { ReactNode } from 'react';
import { BoldLink } from './page-layout.tsx';
import { Hint } from './text.tsx';

interface Column<T> {
  head: string;
  cell: (row: T) => ReactNode;
  th?: TableThProps;
  td?: TableTdProps;
}

export function DataTable<T>({
  label,
  minWidth,
  rows,
  keyOf = (row) => (row as { id: string }).id,
  columns,
  verticalSpacing = 'sm',
  highlightOnHover = verticalSpacing === 'sm',
}: Pick<TableProps, 'highlightOnHover' | 'verticalSpacing'> & {
  label: string;
  minWidth: number;
  rows: readonly T[];
  keyOf?: (row: T) => string;
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

export function NameCell({
  to,
  name,
  description,
  ...rest
}: Pick<TextProps, 'lineClamp' | 'className'> & {
  to?: string;
  name: ReactNode;
  description: ReactNode;
}) {
  return (
    <Stack gap={0}>
      {to === undefined ? <Text fw={600}>{name}</Text> : <BoldLink to={to}>{name}</BoldLink>}
      {description && <Hint {...rest}>{description}</Hint>}
    </Stack>
  );
}

/** A detail without a value is left out. */
type Details = Readonly<Record<string, ReactNode>>;

const detailsWithValue = (details: Details) =>
  Object.entries(details).filter(([, value]) => value !== null && value !== undefined && value !== false);

export function DetailTable({ label, details }: { label: string; details: Details }) {
  return (
    <Table variant="vertical" withTableBorder layout="fixed" aria-label={label}>
      <Table.Tbody>
        {detailsWithValue(details).map(([name, value]) => (
          <Table.Tr key={name}>
            <Table.Th scope="row" w={{ base: 110, sm: 180 }}>
              {name}
            </Table.Th>
            <Table.Td>{value}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}

export function DetailGrid({
  details,
  size = 'sm',
  ...rest
}: Pick<SimpleGridProps, 'cols' | 'spacing'> & { details: Details; size?: TextProps['size'] }) {
  return (
    <SimpleGrid component="dl" m={0} {...rest}>
      {detailsWithValue(details).map(([name, value]) => (
        <Stack key={name} gap={0} component="div">
          <Hint component="dt">{name}</Hint>
          <Text component="dd" m={0} size={size} style={{ overflowWrap: 'anywhere' }}>
            {value}
          </Text>
        </Stack>
      ))}
    </SimpleGrid>
  );
}
