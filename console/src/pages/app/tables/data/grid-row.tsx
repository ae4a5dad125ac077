import { Checkbox, Popover, VisuallyHidden } from '@mantine/core';
import { memo } from 'react';
import { type ColumnView, isChangeable, useTable } from '../use-table.ts';
import { CellEditor, CellReader } from './cell-editor.tsx';
import { cellLooks } from './cell-looks.ts';
import { cellText } from './cell-value.ts';
import { CellValueText } from './cell-value-text.tsx';
import { type RowEdit, shownValue } from './edits.ts';
import type { RawRow } from './raw-json.ts';

export interface GridRowProps {
  row: RawRow;
  id: string;
  columns: readonly ColumnView[];
  edit: RowEdit | undefined;
  isSelected: boolean;
  /** Where the keyboard stands in this row; -1: elsewhere. */
  activeAt: number;
  /** Whose value is being written. */
  editing: string | null;
  onSelect: (id: string) => void;
  onOpen: (id: string, column: string) => void;
  onKeep: (id: string, column: string, json: string) => void;
  onClose: () => void;
}

export const GridRow = memo(function GridRow(props: GridRowProps) {
  const { row, id, columns, edit, isSelected, activeAt, editing } = props;
  const name = cellText('text', id);
  return (
    <tr aria-selected={isSelected} className={isSelected ? 'grid-selected' : undefined}>
      <td className="grid-check">
        <Checkbox
          size="xs"
          aria-label={`Select row ${name}`}
          checked={isSelected}
          onChange={() => props.onSelect(id)}
          tabIndex={activeAt === 0 ? 0 : -1}
        />
      </td>
      {columns.map((column, at) => {
        const isChanged = edit?.changes.has(column.name) ?? false;
        const value = shownValue(row, edit, column.name);
        return (
          <td
            key={column.name}
            tabIndex={activeAt === at + 1 ? 0 : -1}
            className={`${cellLooks[column.type] ?? ''} ${isChanged ? 'grid-changed' : ''}`}
            onDoubleClick={() => props.onOpen(id, column.name)}
          >
            {isChanged && <span aria-hidden>● </span>}
            <CellValueText type={column.type} value={value} />
            {isChanged && <VisuallyHidden>, changed, not saved</VisuallyHidden>}
            {editing === column.name && <OpenCell {...props} column={column} value={value} />}
          </td>
        );
      })}
    </tr>
  );
});

function OpenCell({
  id,
  column,
  value,
  onKeep,
  onClose,
}: GridRowProps & { column: ColumnView; value: string }) {
  const { table, whyRows } = useTable();
  const why = isChangeable(table, column) ? whyRows : keptReason(column, table.owner_column);
  return (
    <Popover
      opened
      onChange={(opened) => !opened && onClose()}
      trapFocus
      width={320}
      shadow="md"
      withinPortal
      withRoles={false}
      hideDetached={false}
      // What was written is not lost by a click beside it.
      closeOnClickOutside={why !== null}
    >
      <Popover.Target>
        <span className="grid-anchor" />
      </Popover.Target>
      <Popover.Dropdown
        role="dialog"
        aria-label={`${why === null ? 'Edit' : 'Read'} ${column.name} of row ${cellText('text', id)}`}
        maw="94vw"
      >
        {why === null ? (
          <CellEditor
            column={column}
            value={value}
            onKeep={(json) => onKeep(id, column.name, json)}
            onCancel={onClose}
          />
        ) : (
          <CellReader column={column} value={value} why={why} />
        )}
      </Popover.Dropdown>
    </Popover>
  );
}

function keptReason({ name }: ColumnView, ownerColumn: string | null): string {
  if (name === 'id') return 'The id of a row stays as it is.';
  if (name === ownerColumn) return 'To whom a row belongs stays as it is.';
  return 'The service keeps this value itself.';
}
