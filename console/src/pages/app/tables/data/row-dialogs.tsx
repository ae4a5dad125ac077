import type { RawRow } from '@svc/contract/json.ts';
import { ExportDialog } from '../export/export-dialog.tsx';
import { ImportDialog } from '../import/import-dialog.tsx';
import { DeleteDialog } from './delete-dialog.tsx';
import { FilterDialog } from './filter-dialog.tsx';
import type { GridColumn, GridQuery } from './grid-query.ts';
import { HistoryDialog, TrashDialog } from './history-dialogs.tsx';
import { InsertDialog } from './insert-dialog.tsx';
import { MatchingDialog } from './matching-dialog.tsx';

export type RowDialog =
  | 'filter'
  | 'insert'
  | 'import'
  | 'export'
  | 'delete'
  | 'matching'
  | 'history'
  | 'trash';

export interface RowDialogProps {
  /** Columns to filter by, also of related rows. */
  columns: readonly GridColumn[];
  query: GridQuery;
  setQuery: (change: Partial<GridQuery>) => void;
  rows: readonly RawRow[];
  selected: ReadonlySet<string>;
  onDeleted: (ids: readonly string[]) => void;
  onStored: () => void;
}

/** A module of its own, which is loaded when the first dialog is opened. */
export function OpenRowDialog({
  dialog,
  onClose,
  columns,
  query,
  setQuery,
  rows,
  selected,
  onDeleted,
  onStored,
}: RowDialogProps & { dialog: RowDialog; onClose: () => void }) {
  switch (dialog) {
    case 'filter':
      return (
        <FilterDialog
          columns={columns}
          filters={query.filters}
          onApply={(filters) => {
            setQuery({ filters });
            onClose();
          }}
          onClose={onClose}
        />
      );
    case 'insert':
      return <InsertDialog onClose={onClose} onStored={onStored} />;
    case 'import':
      return <ImportDialog onClose={onClose} onStored={onStored} />;
    case 'export':
      return <ExportDialog query={query} onClose={onClose} />;
    case 'matching':
      return <MatchingDialog query={query} onClose={onClose} onStored={onStored} />;
    case 'history':
      return <HistoryDialog id={[...selected][0] ?? ''} onClose={onClose} />;
    case 'trash':
      return <TrashDialog onClose={onClose} onStored={onStored} />;
    case 'delete':
      return (
        <DeleteDialog
          rows={rows.filter((row) => selected.has(row.get('id') ?? ''))}
          ids={[...selected]}
          onClose={onClose}
          onDeleted={onDeleted}
        />
      );
  }
}
