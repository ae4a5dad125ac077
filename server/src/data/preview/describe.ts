import type { AccessSource } from '@svc/contract/access-preview.shapes.ts';
import type { z } from 'zod';
import { changeable, isWritable, type RowAction, rowActions, type Source } from '../rows/access.ts';
import type { TableView } from '../rows/row-table.ts';
import type { TableAccess } from '../rows/table-access.ts';
import type { CatalogueColumn } from '../tables/catalogue.ts';
import { isAlways, type PlannedCondition } from '../tables/conditions.ts';
import { canBeTrue, isEquivalent } from './coverage.ts';
import { conditionWords, listWords } from './words.ts';

export type SourceRecord = z.output<typeof AccessSource>;

export interface Disclosure {
  /** Admins and owners learn about everything; others only about what they see anyway. */
  isFull: boolean;
  table: string;
  names: ReadonlyMap<string, string>;
  presets: ReadonlyMap<string, string>;
}

/** Actions without a row on which they could be done are left out; reading then has a reason of its own. */
export function describeActions(value: TableAccess | null): RowAction[] {
  return rowActions.filter(
    (action) =>
      value?.access.actions.has(action) &&
      (action === 'read' || (canBeTrue(rowsOf(value, action)) && hasColumns(value, action))),
  );
}

function rowsOf({ access, table, exportTable }: TableAccess, action: RowAction): PlannedCondition {
  if (action === 'read') return table.view.rows;
  return action === 'export' ? exportTable.view.rows : changeable(access, action);
}

const hasColumns = ({ access, table }: TableAccess, action: RowAction) =>
  action !== 'update' || table.catalogue.columns.some(({ name }) => isWritable(access, action, name));

/** What can be done besides reading, with the rows: `update and delete rows where region is "eu"`. */
export function describeChanges(value: TableAccess | null, disclosure: Disclosure): string[] {
  if (!value) return [];
  const byRows = new Map<string, string[]>();
  for (const action of describeActions(value)) {
    if (action === 'read') continue;
    const words = rowWords(value, action, disclosure);
    byRows.set(words, [...(byRows.get(words) ?? []), action]);
  }
  return [...byRows].map(([rows, actions]) => `${listWords(actions)} ${rows}`);
}

function rowWords(value: TableAccess, action: RowAction, disclosure: Disclosure): string {
  const rows = rowsOf(value, action);
  if (isAlways(rows)) return action === 'insert' ? 'any row' : 'all rows';
  const isOfVisible = action !== 'insert' && value.access.actions.has('read');
  if (isOfVisible && isEquivalent(rows, value.table.view.rows)) return 'these rows';
  return `rows where ${conditionWords(rows, wordOptions(value, disclosure))}`;
}

export function wordOptions({ table: { view } }: TableAccess, { isFull, names }: Disclosure) {
  return { names, isShown: (column: CatalogueColumn) => isFull || isClear(view, column) };
}

export function describeSources(value: TableAccess | null, disclosure: Disclosure): SourceRecord[] {
  const sources = value?.access.alternatives.flatMap(({ because }) => because) ?? [];
  return uniqueSources(
    sources.map((source) => ({ kind: source.kind, id: source.id, name: sourceName(source, disclosure) })),
  );
}

export const uniqueSources = (records: readonly SourceRecord[]): SourceRecord[] => [
  ...new Map(records.map((record) => [`${record.kind} ${record.id}`, record])).values(),
];

/** The text of a rule names columns that its reader may not see. */
function sourceName({ kind, id, text }: Source, { isFull, table, presets }: Disclosure): string {
  if (kind === 'rule') return isFull ? `the rules of ${table} (${text})` : `the rules of ${table}`;
  const preset = presets.get(id);
  return kind === 'grant' && preset !== undefined ? `${text} with the preset ${preset}` : text;
}

/** Of catalogues that were loaded apart. */
export const isSame = (one: CatalogueColumn, other: CatalogueColumn) => one.physical === other.physical;

/** Whether the caller always sees the column as it is stored. */
export function isClear({ columns }: TableView, column: CatalogueColumn): boolean {
  return (
    columns === null || columns.some(({ source, cases }) => isSame(source, column) && cases.length === 0)
  );
}

export function describeFilter(value: TableAccess | null, disclosure: Disclosure): string {
  if (!value?.access.actions.has('read')) return 'no rows';
  return conditionWords(value.table.view.rows, wordOptions(value, disclosure));
}
