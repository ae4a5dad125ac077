import { mapConcurrently } from '@svc/contract/concurrency.ts';
import type { RawRow } from '@svc/contract/json.ts';
import { snippetKey } from '@svc/contract/search.ts';
import { useEffect, useState } from 'react';
import { isCode } from '../../../../api/client.ts';
import type { VersionedRow } from './rows-api.ts';

export interface RowEdit {
  base: RawRow;
  etag: string;
  changes: RawRow;
}

export type Edits = ReadonlyMap<string, RowEdit>;

export const noEdits: Edits = new Map();

export function addChange(edits: Edits, id: string, read: VersionedRow, column: string, json: string): Edits {
  const edit = edits.get(id) ?? { base: read.row, etag: read.etag, changes: new Map() };
  const changes = new Map(edit.changes);
  if (isSame(edit.base.get(column), json)) changes.delete(column);
  else changes.set(column, json);
  return setEdit(edits, id, { ...edit, changes });
}

export function setEdit(edits: Edits, id: string, edit: RowEdit): Edits {
  const next = new Map(edits);
  if (edit.changes.size === 0) next.delete(id);
  else next.set(id, edit);
  return next;
}

export function removeEdit(edits: Edits, id: string): Edits {
  const next = new Map(edits);
  next.delete(id);
  return next;
}

export function rebaseEdit({ changes }: RowEdit, { row, etag }: VersionedRow): RowEdit {
  const remaining = [...changes].filter(([column, json]) => !isSame(row.get(column), json));
  return { base: row, etag, changes: new Map(remaining) };
}

export function hasUnsaved(all: Iterable<Edits>): boolean {
  return [...all].some((edits) => countChanges(edits) > 0);
}

export function countChanges(edits: Edits): number {
  let count = 0;
  for (const { changes } of edits.values()) count += changes.size;
  return count;
}

export function displayValue(row: RawRow, edit: RowEdit | undefined, column: string): string {
  return edit?.changes.get(column) ?? edit?.base.get(column) ?? row.get(column) ?? 'null';
}

/** `5` and `"5"` are the same bigint. */
function isSame(before: string | undefined, after: string): boolean {
  return before === after || (before !== undefined && `"${before}"` === after && /^-?\d+$/.test(before));
}

const unsavedEdits = new Map<string, Edits>();

/** Registered on every page, because leaving any page of the console loses the edits. */
const confirmLeave = (event: BeforeUnloadEvent) => event.preventDefault();

export function useEdits(tableId: string): [Edits, (change: (edits: Edits) => Edits) => void] {
  const [edits, setEdits] = useState<Edits>(() => unsavedEdits.get(tableId) ?? noEdits);
  useEffect(() => {
    unsavedEdits.set(tableId, edits);
    if (hasUnsaved(unsavedEdits.values())) addEventListener('beforeunload', confirmLeave);
    else removeEventListener('beforeunload', confirmLeave);
  }, [tableId, edits]);
  return [edits, setEdits];
}

interface DeleteWork {
  displayed(id: string): RawRow | undefined;
  read(id: string): Promise<VersionedRow>;
  remove(id: string, etag: string): Promise<void>;
  onGone(id: string): void;
}

const atOnce = 4;

export async function deleteRows(ids: readonly string[], work: DeleteWork): Promise<string[]> {
  const changed: string[] = [];
  await mapConcurrently(ids, atOnce, async (id) => {
    try {
      const { row, etag } = await work.read(id);
      if (!isUnchanged(work.displayed(id), row)) {
        changed.push(id);
        return;
      }
      await work.remove(id, etag);
    } catch (error) {
      if (isCode(error, 'precondition_failed')) {
        changed.push(id);
        return;
      }
      if (!isCode(error, 'not_found')) throw error;
    }
    work.onGone(id);
  });
  return changed;
}

const isUnchanged = (displayed: RawRow | undefined, now: RawRow) =>
  [...(displayed ?? [])].every(([column, json]) => column === snippetKey || now.get(column) === json);
