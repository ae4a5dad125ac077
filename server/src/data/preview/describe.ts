import type { AccessPreview, AccessSource } from '@svc/contract/access-preview.shapes.ts';
import type { z } from 'zod';
import { rowActions, type Source } from '../rows/access.ts';
import type { TableView, ViewColumn } from '../rows/row-table.ts';
import type { TableAccess } from '../rows/table-access.ts';
import type { CatalogueColumn, TableCatalogue } from '../tables/catalogue.ts';
import { isAlways } from '../tables/conditions.ts';
import { conditionWords, listWords } from './words.ts';

type SourceRecord = z.output<typeof AccessSource>;
export type ColumnRecord = z.output<typeof AccessPreview>['columns'][number];

export interface Disclosure {
  /** Admins and owners learn about everything; others only about what they see anyway. */
  isFull: boolean;
  table: string;
  names: ReadonlyMap<string, string>;
  presets: ReadonlyMap<string, string>;
}

export function describeActions(value: TableAccess | null) {
  return rowActions.filter((action) => value?.access.actions.has(action));
}

export function describeSources(value: TableAccess | null, disclosure: Disclosure): SourceRecord[] {
  const sources = value?.access.alternatives.flatMap(({ because }) => because) ?? [];
  return uniqueSources(sources, disclosure);
}

function uniqueSources(sources: readonly Source[], disclosure: Disclosure): SourceRecord[] {
  const records = sources.map(({ kind, id, text }) => ({
    kind,
    id,
    name: sourceName({ kind, id, text }, disclosure),
  }));
  return [...new Map(records.map((record) => [`${record.kind} ${record.id}`, record])).values()];
}

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

export function describeFilter(value: TableAccess | null, { isFull, names }: Disclosure): string {
  if (!value?.access.actions.has('read')) return 'no rows';
  const { view } = value.table;
  return conditionWords(view.rows, { names, isShown: (column) => isFull || isClear(view, column) });
}

export function describeColumns(
  catalogue: TableCatalogue,
  value: TableAccess | null,
  disclosure: Disclosure,
): ColumnRecord[] {
  const reader = value?.access.actions.has('read') ? value : null;
  const columns = catalogue.columns.filter(({ name }) => name !== '');
  const records = columns.map((source): ColumnRecord => {
    const base = { name: source.name, type: source.type };
    const isNamed = (each: ViewColumn) => isSame(each.source, source) && each.column.name !== '';
    const seen = reader?.table.view.columns?.find(isNamed);
    if (!reader || (reader.table.view.columns !== null && !seen)) {
      const because = reader ? columnSources(reader, source, disclosure, 'hidden') : [];
      return { ...base, access: 'hidden', mask: null, text: `hidden${byWords(because)}`, because };
    }
    if (!seen || seen.cases.length === 0)
      return { ...base, access: 'clear', mask: null, text: 'clear', because: [] };
    const because = columnSources(reader, source, disclosure, 'masked');
    const [mask = null] = seen.cases.flatMap((each) => (each.mask ? [each.mask.kind] : []));
    return {
      ...base,
      access: 'masked',
      mask,
      text: `${caseWords(seen, reader, disclosure)}${byWords(because)}`,
      because,
    };
  });
  return disclosure.isFull ? records : records.filter(({ access }) => access !== 'hidden');
}

function caseWords({ cases }: ViewColumn, { table }: TableAccess, { isFull, names }: Disclosure): string {
  const isShown = (column: CatalogueColumn) => isFull || isClear(table.view, column);
  const texts = cases.map(({ when, mask }) => {
    const what = mask ? `masked (${mask.kind})` : 'clear';
    return isAlways(when) ? what : `${what} where ${conditionWords(when, { names, isShown })}`;
  });
  return cases.some(({ when }) => isAlways(when)) ? texts.join(', ') : `${texts.join(', ')}, otherwise empty`;
}

const byWords = (because: readonly SourceRecord[]) =>
  because.length === 0 ? '' : ` by ${listWords(because.map(({ name }) => name))}`;

/** The policies and rules that hide or mask a column. */
function columnSources(
  { access }: TableAccess,
  { name }: CatalogueColumn,
  disclosure: Disclosure,
  what: 'hidden' | 'masked',
): SourceRecord[] {
  const sources = access.alternatives.flatMap(({ reads: { read }, because }): Source[] => {
    if (!read) return [];
    const those = (read.policies ?? []).filter((policy) =>
      what === 'hidden' ? !policy.isVisible(name) : policy.masks.has(name),
    );
    const isByRule = those.length === 0 && read.columns?.get(name)?.when !== undefined;
    const rules = because.filter(({ kind }) => kind === 'rule');
    const isHiddenByRule = what === 'hidden' && those.length === 0 && !read.columns?.has(name);
    return isHiddenByRule || (what === 'masked' && isByRule) ? rules : those.map(({ source }) => source);
  });
  return uniqueSources(sources, disclosure);
}
