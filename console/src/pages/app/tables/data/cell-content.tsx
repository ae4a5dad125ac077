import { isFileType } from '@svc/contract/file-type.ts';
import type { VisibleColumn } from '../use-table.ts';
import { CellValue } from './cell-editor.tsx';
import { formatCell, sqlNull } from './cell-value.ts';
import { FileLink } from './file-field.tsx';
import { ReferenceValue } from './references.tsx';
import type { ReferenceLabels } from './relations.ts';

/** A value to read: files and related rows are links, people have their names. */
export function CellContent({
  path,
  row,
  column,
  value,
  labels,
  person,
  tabIndex,
}: {
  /** Of the table of the row. */
  path: string;
  /** The id of the row. */
  row: string;
  column: VisibleColumn;
  value: string;
  labels: ReferenceLabels;
  /** The name of the person whose id the value is. */
  person?: string;
  tabIndex?: number;
}) {
  if (value === sqlNull) return <CellValue type={column.type} value={value} />;
  if (isFileType(column.type)) return <FileLink path={path} row={row} column={column.name} value={value} />;
  if (person !== undefined) return <span title={formatCell('text', value)}>{person}</span>;
  if (column.ref !== undefined)
    return <ReferenceValue table={column.ref} value={value} labels={labels} tabIndex={tabIndex} />;
  return <CellValue type={column.type} value={value} />;
}
