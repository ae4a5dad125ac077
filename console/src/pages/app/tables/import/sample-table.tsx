import { NativeSelect, Table, Text } from '@mantine/core';
import { BoldText } from '../../../../components/text.tsx';
import { CellValue } from '../data/cell-editor.tsx';
import { type ColumnView, useTable } from '../use-table.ts';
import { fieldJson, type ImportField, type ImportRecord, isImportable, type Mapping } from './records.ts';

export function SampleTable({
  records,
  mapping,
  onMapping,
}: {
  records: readonly ImportRecord[];
  mapping: Mapping;
  onMapping: (mapping: Mapping) => void;
}) {
  const { table } = useTable();
  const names = [...mapping.keys()];
  const targets = table.columns.filter(isImportable);
  return (
    <Table.ScrollContainer minWidth={0}>
      <Table aria-label="First records" verticalSpacing={6} withTableBorder withColumnBorders>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Line</Table.Th>
            {names.map((name) => (
              <Table.Th key={name} miw={150}>
                <BoldText>{name}</BoldText>
                <NativeSelect
                  size="xs"
                  aria-label={`Column for ${name}`}
                  data={[
                    { value: '', label: 'skip' },
                    ...targets.map((column) => ({
                      value: column.name,
                      label: `${column.name}: ${column.type}`,
                    })),
                  ]}
                  value={mapping.get(name) ?? ''}
                  onChange={(event) =>
                    onMapping(new Map(mapping).set(name, event.currentTarget.value || null))
                  }
                />
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {records.map((record) => (
            <Table.Tr key={record.line}>
              <Table.Td>
                {record.line}
                {record.fault && <Fault>{record.fault}</Fault>}
              </Table.Td>
              {names.map((name) => (
                <Table.Td key={name} maw={280}>
                  <SampleCell
                    field={record.fields.get(name)}
                    column={targets.find((column) => column.name === mapping.get(name))}
                  />
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

function SampleCell({ field, column }: { field: ImportField | undefined; column: ColumnView | undefined }) {
  if (!field) return <em className="grid-nothing">absent</em>;
  const source = field.kind === 'cell' ? (field.text ?? '') : field.json;
  if (!column) return <em className="grid-nothing">skipped</em>;
  const written = fieldJson(column, field);
  if (written === null) return <em className="grid-nothing">default</em>;
  if (written.ok) return <CellValue type={column.type} value={written.json} />;
  return (
    <>
      {source}
      <Fault>{written.detail}</Fault>
    </>
  );
}

function Fault({ children }: { children: string }) {
  return (
    <Text size="xs" c="var(--mantine-color-error)" fw={600}>
      ✕ {children}
    </Text>
  );
}
