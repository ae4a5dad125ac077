import { type FocusEvent, type KeyboardEvent, useCallback, useRef, useState } from 'react';
import type { ColumnView } from '../use-table.ts';
import type { Edits } from './edits.ts';
import { GridHead } from './grid-head.tsx';
import { movedBy, type Place } from './grid-move.ts';
import type { SortKey } from './grid-query.ts';
import { GridRow } from './grid-row.tsx';
import type { RawRow } from './raw-json.ts';

export interface DataGridProps {
  label: string;
  columns: readonly ColumnView[];
  rows: readonly RawRow[];
  edits: Edits;
  sort: readonly SortKey[];
  onSort: (sort: SortKey[]) => void;
  selected: ReadonlySet<string>;
  onSelect: (selected: ReadonlySet<string>) => void;
  /** Before a cell of a row is written: reads the row anew. False: it can not be written. */
  onOpen: (id: string) => Promise<boolean>;
  onKeep: (id: string, column: string, json: string) => void;
}

export const idOf = (row: RawRow) => row.get('id') ?? '';

/** Rows as a grid: arrow keys lead from cell to cell, Enter or F2 opens one, Space selects its row. */
export function DataGrid(props: DataGridProps) {
  const { columns, rows, selected, onSelect, onOpen, onKeep } = props;
  const grid = useRef<HTMLTableElement>(null);
  const [active, setActive] = useState<Place>({ row: 1, column: 1 });
  const [editing, setEditing] = useState<{ id: string; column: string } | null>(null);
  const at: Place = {
    row: Math.min(active.row, rows.length),
    column: Math.min(active.column, columns.length),
  };

  const open = useCallback(
    async (id: string, column: string) => {
      if (await onOpen(id)) setEditing({ id, column });
    },
    [onOpen],
  );
  const close = useCallback(() => {
    setEditing(null);
    // Once the cell's own window is gone the keyboard is where it was.
    requestAnimationFrame(() => grid.current?.querySelector<HTMLElement>('tbody td[tabindex="0"]')?.focus());
  }, []);
  const keep = useCallback(
    (id: string, column: string, json: string) => {
      onKeep(id, column, json);
      close();
    },
    [onKeep, close],
  );
  const toggle = useCallback(
    (id: string) => {
      const next = new Set(selected);
      if (!next.delete(id)) next.add(id);
      onSelect(next);
    },
    [selected, onSelect],
  );
  const isAllSelected = rows.length > 0 && rows.every((row) => selected.has(idOf(row)));

  function onKeyDown(event: KeyboardEvent<HTMLTableElement>) {
    // What is pressed in the window of a cell comes by here as well.
    if (!grid.current?.contains(event.target as Node)) return;
    const from = placeOf(event.target as Element);
    if (!from) return;
    const row = rows[from.row - 1];
    const column = columns[from.column - 1];
    if ((event.key === 'Enter' || event.key === 'F2') && row && column) {
      event.preventDefault();
      void open(idOf(row), column.name);
      return;
    }
    if (event.key === ' ' && row && column) {
      event.preventDefault();
      toggle(idOf(row));
      return;
    }
    const to = movedBy(event, from, { row: rows.length, column: columns.length });
    if (!to) return;
    event.preventDefault();
    focusCell(grid.current, to);
  }

  function onFocus(event: FocusEvent<HTMLTableElement>) {
    const place = grid.current?.contains(event.target) ? placeOf(event.target) : null;
    if (place && (place.row !== active.row || place.column !== active.column)) setActive(place);
  }

  return (
    <div className="grid-box">
      <table
        ref={grid}
        // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: its cells are gone through by the keyboard.
        role="grid"
        className="grid"
        aria-label={props.label}
        aria-multiselectable
        onKeyDown={onKeyDown}
        onFocus={onFocus}
      >
        <GridHead
          columns={columns}
          sort={props.sort}
          activeAt={at.row === 0 ? at.column : -1}
          isAllSelected={isAllSelected}
          onSort={props.onSort}
          onSelectAll={() => onSelect(new Set(isAllSelected ? [] : rows.map(idOf)))}
        />
        <tbody>
          {rows.map((row, index) => {
            const id = idOf(row);
            return (
              <GridRow
                key={id}
                row={row}
                id={id}
                columns={columns}
                edit={props.edits.get(id)}
                isSelected={selected.has(id)}
                activeAt={at.row === index + 1 ? at.column : -1}
                editing={editing?.id === id ? editing.column : null}
                onSelect={toggle}
                onOpen={open}
                onKeep={keep}
                onClose={close}
              />
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function placeOf(element: Element | null): Place | null {
  const cell = element?.closest('td, th');
  const row = cell?.parentElement;
  if (!(cell instanceof HTMLTableCellElement) || !(row instanceof HTMLTableRowElement)) return null;
  return { row: row.rowIndex, column: cell.cellIndex };
}

/** Into the cell, or onto what is used in it. */
function focusCell(grid: HTMLTableElement | null, place: Place | null): void {
  const cell = place && grid?.rows[place.row]?.cells[place.column];
  if (!cell) return;
  (cell.querySelector<HTMLElement>('button, input') ?? cell).focus();
}
