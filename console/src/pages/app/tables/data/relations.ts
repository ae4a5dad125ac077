import { ProblemError } from '@svc/contract/client.ts';
import { jsonMembers, type RawRow } from '@svc/contract/json.ts';
import { embedsMax } from '@svc/contract/rows.ts';
import type { VisibleColumn } from '../use-table.ts';
import { formatCell, sqlNull } from './cell-value.ts';
import { fetchPage, type RowPage } from './rows-api.ts';

/** A column that refers to rows of a table which the reader may read. */
export interface Relation {
  column: string;
  table: string;
  /** The column that names a row of the table; null if it has no text. */
  label: string | null;
  columns: readonly VisibleColumn[];
}

/** The first text says more to people than an id. */
export function labelColumn(columns: readonly VisibleColumn[]): string | null {
  return columns.find(({ name, type, mask }) => type === 'text' && name !== 'id' && !mask)?.name ?? null;
}

/** `readable` has the columns that the reader sees, by table. A masked column relates no rows. */
export function findRelations(
  columns: readonly VisibleColumn[],
  readable: ReadonlyMap<string, readonly VisibleColumn[]>,
): Relation[] {
  return columns.flatMap(({ name, ref, mask }) => {
    const target = ref === undefined || mask ? undefined : readable.get(ref);
    if (ref === undefined || !target?.some((each) => each.name === 'id' && !each.mask)) return [];
    return [{ column: name, table: ref, label: labelColumn(target), columns: target }];
  });
}

/** Columns of related rows, such as `author.name`. The id is the value of the column itself. */
export function relatedColumns(relations: readonly Relation[]): VisibleColumn[] {
  return relations.flatMap(({ column, columns }) =>
    columns.flatMap((each) => (each.name === 'id' ? [] : [{ ...each, name: `${column}.${each.name}` }])),
  );
}

/** Labels of rows, by table and id. */
export type ReferenceLabels = ReadonlyMap<string, string>;

const labelCharsMax = 200;
export const referenceKey = (table: string, id: string) => `${table} ${id}`;
const noLabels: ReferenceLabels = new Map();

/** Names of columns have no capital letters. */
const labelKey = (at: number) => `L${at}`;

export function withLabels(search: URLSearchParams, relations: readonly Relation[]): URLSearchParams {
  const labels = relations.map(({ column, label }, at) => `${labelKey(at)}:${column}(${label})`);
  const next = new URLSearchParams(search);
  next.set('select', [next.get('select') ?? '*', ...labels].join(','));
  return next;
}

/** Separates the labels from the rows, which have the columns of their table only. */
export function splitLabels(
  answered: readonly RawRow[],
  relations: readonly Relation[],
): { rows: readonly RawRow[]; labels: ReferenceLabels } {
  const labels = new Map<string, string>();
  const rows = answered.map((row) => {
    const rest = new Map(row);
    for (const [at, { column, table, label }] of relations.entries()) {
      const related = row.get(labelKey(at)) ?? sqlNull;
      rest.delete(labelKey(at));
      if (related === sqlNull || label === null) continue;
      const text = formatCell('text', jsonMembers(related).get(label) ?? sqlNull);
      const id = formatCell('text', row.get(column) ?? sqlNull);
      if (text !== '') labels.set(referenceKey(table, id), text.slice(0, labelCharsMax));
    }
    return rest;
  });
  return { rows, labels };
}

/** A table or a column that the reader does not see answers like one that does not exist. */
export const isUnknown = (error: unknown) =>
  error instanceof ProblemError && [400, 404].includes(error.problem.status);

export interface LabelledPage extends RowPage {
  labels: ReferenceLabels;
}

/** A page of rows with the labels of the rows that they refer to. */
export async function fetchLabelled(
  path: string,
  search: URLSearchParams,
  relations: readonly Relation[],
  signal?: AbortSignal,
): Promise<LabelledPage> {
  const labelled = relations.filter(({ label }) => label !== null).slice(0, embedsMax);
  const plain = async () => ({ ...(await fetchPage(path, search, signal)), labels: noLabels });
  if (labelled.length === 0) return plain();
  if (search.has('_search')) {
    const page = await plain();
    return { ...page, labels: await fetchLabels(path, page.rows, labelled, signal) };
  }
  try {
    const page = await fetchPage(path, withLabels(search, labelled), signal);
    return { ...page, ...splitLabels(page.rows, labelled) };
  } catch (error) {
    // Access to a related table may have ended since it was read.
    if (isUnknown(error)) return plain();
    throw error;
  }
}

/** More ids could exceed the limit of a URL. */
const idsPerRequest = 100;

/** A search cannot be combined with related rows, so they are read by the ids of the page. */
async function fetchLabels(
  path: string,
  rows: readonly RawRow[],
  relations: readonly Relation[],
  signal?: AbortSignal,
): Promise<ReferenceLabels> {
  const labels = new Map<string, string>();
  const ids = rows.map((row) => JSON.stringify(formatCell('text', row.get('id') ?? sqlNull)));
  const select = ['id', ...relations.map(({ column }) => column)].join(',');
  for (let at = 0; at < ids.length; at += idsPerRequest) {
    const id = `in.(${ids.slice(at, at + idsPerRequest).join(',')})`;
    const search = new URLSearchParams({ select, id, per_page: String(idsPerRequest) });
    const page = await fetchPage(path, withLabels(search, relations), signal).catch(() => null);
    for (const [key, label] of splitLabels(page?.rows ?? [], relations).labels) labels.set(key, label);
  }
  return labels;
}
