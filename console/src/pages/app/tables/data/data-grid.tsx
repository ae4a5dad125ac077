import { Checkbox, Popover, VisuallyHidden } from '@mantine/core';
import type { RawRow } from '@svc/contract/json.ts';
import { snippetKey } from '@svc/contract/search.ts';
import { type FocusEvent, type KeyboardEvent, memo, useCallback, useRef, useState } from 'react';
import { SmallLink } from '../../../../components/page-layout.tsx';
import { useUrlDialog } from '../../../../components/url-state.ts';
import { isChangeable, useTable, type VisibleColumn } from '../use-table.ts';
import { CellContent } from './cell-content.tsx';
import { CellEditor, CellReader, cellClass } from './cell-editor.tsx';
import { formatCell } from './cell-value.ts';
import { displayValue, type Edits, type RowEdit } from './edits.ts';
import { GridHeader } from './grid-header.tsx';
import { type CellPosition, moveFocus } from './grid-move.ts';
import type { SortKey } from './grid-query.ts';
import type { ReferenceLabels, Relation } from './relations.ts';
import { Snippet } from './snippet.tsx';
import type { SummaryRowState } from './summary.ts';
import { SummaryRow } from './summary-row.tsx';

interface DataGridProps {
  label: string;
  columns: readonly VisibleColumn[];
  rows: readonly RawRow[];
  /** Names of the people in the owner column, by user id. */
  names: ReadonlyMap<string, string>;
  labels: ReferenceLabels;
  /** Whose labels the rows can be sorted by. */
  relations: readonly Relation[];
  summary: SummaryRowState;
  edits: Edits;
  sort: readonly SortKey[];
  onSort: (sort: SortKey[]) => void;
  selected: ReadonlySet<string>;
  onSelect: (selected: ReadonlySet<string>) => void;
  onOpen: (id: string) => Promise<boolean>;
  onApply: (id: string, column: string, json: string) => void;
}

const rowId = (row: RawRow) => row.get('id') ?? '';

export function DataGrid(props: DataGridProps) {
  const { columns, rows, selected, onSelect, onOpen, onApply } = props;
  const grid = useRef<HTMLTableElement>(null);
  const [active, setActive] = useState<CellPosition>({ row: 1, column: 1 });
  const [editing, setEditing] = useState<{ id: string; column: string } | null>(null);
  const summaryAt = rows.length + 1;
  const at: CellPosition = {
    row: Math.min(active.row, summaryAt),
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
    // Return the focus to the cell after its popover is gone.
    requestAnimationFrame(() => grid.current?.querySelector<HTMLElement>('tbody td[tabindex="0"]')?.focus());
  }, []);
  const apply = useCallback(
    (id: string, column: string, json: string) => {
      onApply(id, column, json);
      close();
    },
    [onApply, close],
  );
  const toggle = useCallback(
    (id: string) => {
      const next = new Set(selected);
      if (!next.delete(id)) next.add(id);
      onSelect(next);
    },
    [selected, onSelect],
  );
  const hasSnippets = rows.some((row) => row.has(snippetKey));
  const isAllSelected = rows.length > 0 && rows.every((row) => selected.has(rowId(row)));

  function onKeyDown(event: KeyboardEvent<HTMLTableElement>) {
    // React events of a cell's popover bubble here as well.
    if (!grid.current?.contains(event.target as Node)) return;
    const from = cellPosition(event.target as Element);
    if (!from) return;
    const row = rows[from.row - 1];
    const column = columns[from.column - 1];
    if (event.key === 'Enter' && row && column?.name === 'id') {
      event.preventDefault();
      (event.target as Element).closest('td')?.querySelector('a')?.click();
      return;
    }
    if ((event.key === 'Enter' || event.key === 'F2') && row && column) {
      event.preventDefault();
      void open(rowId(row), column.name);
      return;
    }
    if (event.key === ' ' && row && column) {
      event.preventDefault();
      toggle(rowId(row));
      return;
    }
    const to = moveFocus(event, from, { row: summaryAt, column: columns.length });
    if (!to) return;
    event.preventDefault();
    focusCell(grid.current, to);
  }

  function onFocus(event: FocusEvent<HTMLTableElement>) {
    const position = grid.current?.contains(event.target) ? cellPosition(event.target) : null;
    if (position && (position.row !== active.row || position.column !== active.column)) setActive(position);
  }

  return (
    <div className="grid-box">
      <table
        ref={grid}
        // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: the keyboard moves between its cells.
        role="grid"
        className="grid"
        aria-label={props.label}
        aria-multiselectable
        onKeyDown={onKeyDown}
        onFocus={onFocus}
      >
        <GridHeader
          columns={columns}
          relations={props.relations}
          sort={props.sort}
          activeAt={at.row === 0 ? at.column : -1}
          isAllSelected={isAllSelected}
          hasSnippets={hasSnippets}
          onSort={props.onSort}
          onSelectAll={() => onSelect(new Set(isAllSelected ? [] : rows.map(rowId)))}
        />
        <tbody>
          {rows.map((row, index) => {
            const id = rowId(row);
            return (
              <GridRow
                key={id}
                row={row}
                id={id}
                columns={columns}
                names={props.names}
                labels={props.labels}
                edit={props.edits.get(id)}
                hasSnippet={hasSnippets}
                isSelected={selected.has(id)}
                activeAt={at.row === index + 1 ? at.column : -1}
                editing={editing?.id === id ? editing.column : null}
                onSelect={toggle}
                onOpen={open}
                onApply={apply}
                onClose={close}
              />
            );
          })}
        </tbody>
        <SummaryRow
          columns={columns}
          summary={props.summary}
          activeAt={at.row === summaryAt ? at.column : -1}
          hasSnippets={hasSnippets}
        />
      </table>
    </div>
  );
}

function cellPosition(element: Element | null): CellPosition | null {
  const cell = element?.closest('td, th');
  const row = cell?.parentElement;
  if (!(cell instanceof HTMLTableCellElement) || !(row instanceof HTMLTableRowElement)) return null;
  return { row: row.rowIndex, column: cell.cellIndex };
}

function focusCell(grid: HTMLTableElement | null, position: CellPosition | null): void {
  const cell = position && grid?.rows[position.row]?.cells[position.column];
  if (!cell) return;
  (cell.querySelector<HTMLElement>('button, input') ?? cell).focus();
}

interface GridRowProps {
  row: RawRow;
  id: string;
  columns: readonly VisibleColumn[];
  names: ReadonlyMap<string, string>;
  labels: ReferenceLabels;
  edit: RowEdit | undefined;
  isSelected: boolean;
  hasSnippet: boolean;
  activeAt: number;
  editing: string | null;
  onSelect: (id: string) => void;
  onOpen: (id: string, column: string) => void;
  onApply: (id: string, column: string, json: string) => void;
  onClose: () => void;
}

const GridRow = memo(function GridRow(props: GridRowProps) {
  const { row, id, columns, edit, isSelected, activeAt, editing } = props;
  const { table, path } = useTable();
  const name = formatCell('text', id);
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
        const value = displayValue(row, edit, column.name);
        const isOwner = column.name === table.owner_column;
        return (
          <td
            key={column.name}
            tabIndex={activeAt === at + 1 ? 0 : -1}
            className={`${cellClass(column.type)} ${isChanged ? 'grid-changed' : ''}`}
            onDoubleClick={() => props.onOpen(id, column.name)}
          >
            {isChanged && <span aria-hidden>● </span>}
            {column.name === 'id' ? (
              <RowLink id={name} />
            ) : (
              <CellContent
                path={path}
                row={name}
                column={column}
                value={value}
                labels={props.labels}
                person={isOwner ? props.names.get(formatCell('text', value)) : undefined}
                tabIndex={-1}
              />
            )}
            {isChanged && <VisuallyHidden>, changed, not saved</VisuallyHidden>}
            {editing === column.name && <OpenCell {...props} column={column} value={value} />}
          </td>
        );
      })}
      {props.hasSnippet && (
        <td>
          <Snippet html={formatCell('text', row.get(snippetKey) ?? '""')} />
        </td>
      )}
    </tr>
  );
});

/** Opens the details of the row. */
function RowLink({ id }: { id: string }) {
  const { href } = useUrlDialog('row');
  return (
    <SmallLink to={href(id)} tabIndex={-1}>
      {id}
    </SmallLink>
  );
}

function OpenCell({
  id,
  column,
  value,
  onApply,
  onClose,
}: GridRowProps & { column: VisibleColumn; value: string }) {
  const { table, whyNotWrite } = useTable();
  const why = isChangeable(table, column) ? whyNotWrite : readOnlyReason(column, table.owner_column);
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
      // A click outside must not discard input.
      closeOnClickOutside={why !== null}
    >
      <Popover.Target>
        <span className="grid-anchor" />
      </Popover.Target>
      <Popover.Dropdown
        role="dialog"
        aria-label={`${why === null ? 'Edit' : 'Read'} ${column.name} of row ${formatCell('text', id)}`}
        maw="94vw"
      >
        {why === null ? (
          <CellEditor
            column={column}
            value={value}
            onApply={(json) => onApply(id, column.name, json)}
            onCancel={onClose}
          />
        ) : (
          <CellReader column={column} value={value} why={why} />
        )}
      </Popover.Dropdown>
    </Popover>
  );
}

function readOnlyReason({ name, mask }: VisibleColumn, ownerColumn: string | null): string {
  if (name === 'id') return 'The id of a row cannot be changed.';
  if (name === ownerColumn) return 'The owner of a row cannot be changed.';
  if (mask) return 'A policy masks this value, so it cannot be changed.';
  return 'The service generates this value.';
}
