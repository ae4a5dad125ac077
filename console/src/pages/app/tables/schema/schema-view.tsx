import { Stack } from '@mantine/core';
import { ColumnsPart } from './columns-part.tsx';
import { DropTablePart } from './drop-table-part.tsx';
import { IndexesPart } from './indexes-part.tsx';
import { NamePart } from './name-part.tsx';

/** The shape of a table. All of it is changed by preview. */
export function SchemaView() {
  return (
    <Stack gap="xl">
      <ColumnsPart />
      <IndexesPart />
      <NamePart />
      <DropTablePart />
    </Stack>
  );
}
