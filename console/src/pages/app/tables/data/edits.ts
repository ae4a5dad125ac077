import type { RawRow } from './raw-json.ts';
import type { ReadRow } from './rows-api.ts';

/** What somebody has changed in one row and not yet saved. */
export interface RowEdit {
  /** The row as it was read right before. */
  base: RawRow;
  etag: string;
  changes: RawRow;
}

/** By the JSON of the row's id. */
export type Edits = ReadonlyMap<string, RowEdit>;

export const noEdits: Edits = new Map();

/** A value that is what it was is no change. */
export function withChange(edits: Edits, id: string, read: ReadRow, column: string, json: string): Edits {
  const edit = edits.get(id) ?? { base: read.row, etag: read.etag, changes: new Map() };
  const changes = new Map(edit.changes);
  if (isSame(edit.base.get(column), json)) changes.delete(column);
  else changes.set(column, json);
  return withEdit(edits, id, { ...edit, changes });
}

/** Without changes there is nothing to keep. */
export function withEdit(edits: Edits, id: string, edit: RowEdit): Edits {
  const next = new Map(edits);
  if (edit.changes.size === 0) next.delete(id);
  else next.set(id, edit);
  return next;
}

export function without(edits: Edits, id: string): Edits {
  const next = new Map(edits);
  next.delete(id);
  return next;
}

/** Mine again, upon what others have made of the row meanwhile; what is the same by now is no change. */
export function rebased({ changes }: RowEdit, { row, etag }: ReadRow): RowEdit {
  const kept = [...changes].filter(([column, json]) => !isSame(row.get(column), json));
  return { base: row, etag, changes: new Map(kept) };
}

export function hasUnsaved(all: Iterable<Edits>): boolean {
  return [...all].some((edits) => countChanges(edits) > 0);
}

export function countChanges(edits: Edits): number {
  let count = 0;
  for (const { changes } of edits.values()) count += changes.size;
  return count;
}

/** What a cell shows: the change, else the row as it was read last, else as it was listed. */
export function shownValue(row: RawRow, edit: RowEdit | undefined, column: string): string {
  return edit?.changes.get(column) ?? edit?.base.get(column) ?? row.get(column) ?? 'null';
}

/** `5` and `"5"` are one bigint. */
function isSame(before: string | undefined, after: string): boolean {
  return before === after || (before !== undefined && `"${before}"` === after && /^-?\d+$/.test(before));
}
