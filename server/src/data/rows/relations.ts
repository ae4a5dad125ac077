import { fail } from '../../core/problem.ts';
import type { CatalogueColumn, CatalogueReferrer } from '../tables/catalogue.ts';
import type { RowsCtx } from './context.ts';
import type { RecordRead } from './governed-read.ts';
import type { RelatedFrame } from './plan-related.ts';
import type { RowTable } from './row-table.ts';

export interface RelatedTable {
  table: RowTable;
  recordRead: RecordRead;
  isGoverned: boolean;
}

export type OpenRelated = (tableId: string) => Promise<RelatedTable | null>;

export interface Relation {
  /** `one`: a column of the table refers to the other; `many`: a column of the other refers to the table. */
  kind: 'one' | 'many';
  from: CatalogueColumn;
  to: CatalogueColumn;
  other: RelatedTable;
}

/** By a column that refers to another table, with or without its `_id`, or by a table that refers to this one. A hint adds the column. */
export async function findRelation(
  open: OpenRelated,
  table: RowTable,
  name: string,
  hint: string | null = null,
): Promise<Relation | null> {
  if (hint !== null) {
    const many = await findMany(open, table, name, hint);
    const column = many ? null : referenceIn(table, hint);
    return column?.ref?.table === name ? toOne(open, table, hint) : many;
  }
  if (referenceIn(table, name)) return toOne(open, table, name);
  return (
    (await findMany(open, table, name, null)) ??
    (table.byName.has(name) ? null : toOne(open, table, `${name}_id`))
  );
}

function referenceIn(table: RowTable, name: string): CatalogueColumn | null {
  const column = table.catalogue.columns.find((each) => each.name === name && each.ref);
  return column && comparable(table, column) ? column : null;
}

/** Rows are related by what the caller sees of the columns: a masked or hidden one relates nothing. */
function comparable({ byName, view }: RowTable, column: CatalogueColumn): CatalogueColumn | null {
  const seen = byName.get(column.name);
  if (!seen || seen.type !== column.type) return null;
  const cases = view.columns?.find((each) => each.column === seen)?.cases ?? [];
  return cases.some(({ mask }) => mask !== null) ? null : seen;
}

async function toOne(open: OpenRelated, table: RowTable, name: string): Promise<Relation | null> {
  const column = referenceIn(table, name);
  const from = column && comparable(table, column);
  const other = column?.ref ? await open(column.ref.tableId) : null;
  const to = other && comparable(other.table, other.table.catalogue.idColumn);
  return from && to ? { kind: 'one', from, to, other } : null;
}

async function findMany(
  open: OpenRelated,
  table: RowTable,
  name: string,
  hint: string | null,
): Promise<Relation | null> {
  const from = comparable(table, table.catalogue.idColumn);
  const referrers = (table.catalogue.referencedBy ?? []).filter(
    (each) => each.table === name && (hint === null || each.column === hint),
  );
  const [first] = referrers;
  if (!from || !first) return null;
  const other = await open(first.tableId);
  const columns = other ? referrers.flatMap((each) => referrerColumn(other.table, each) ?? []) : [];
  const [to] = columns;
  if (!other || !to) return null;
  if (columns.length > 1) throw ambiguousError(name, columns);
  return { kind: 'many', from, to, other };
}

function referrerColumn(table: RowTable, { column: name }: CatalogueReferrer): CatalogueColumn | null {
  const column = table.catalogue.columns.find((each) => each.name === name);
  return column ? comparable(table, column) : null;
}

function ambiguousError(name: string, columns: readonly CatalogueColumn[]) {
  const forms = columns.map((column) => `${name}!${column.name}`);
  const detail = `several columns of ${name} refer to this table; write ${forms.join(' or ')}`;
  return fail('validation_failed', {
    detail: `${name}: ${detail}`,
    errors: [{ field: 'select', code: 'ambiguous', detail }],
  });
}

/** An app asks for related rows in a few ways, with ever new values in the conditions on its own columns. */
const framesMax = 32;
const frames = new WeakMap<RowTable, Map<string, RelatedFrame>>();

/** As planned before for the same table as the same caller sees it, if they still see the related tables in the same way. */
export async function knownFrame(
  ctx: Pick<RowsCtx, 'openRelated' | 'table' | 'search'>,
  tests: string,
  plan: () => Promise<RelatedFrame>,
): Promise<RelatedFrame> {
  const known = frames.get(ctx.table) ?? new Map<string, RelatedFrame>();
  const key = `${tests}&${relatedPairs(ctx.search)}`;
  const found = known.get(key);
  const opened = found && (await reopen(ctx, found));
  if (opened) return { ...found, opened };
  const frame = await plan();
  const [oldest = ''] = known.size >= framesMax ? known.keys() : [];
  known.delete(oldest);
  known.set(key, frame);
  frames.set(ctx.table, known);
  return frame;
}

/** A new decision about access makes a new table. Records of reads belong to one request. */
export async function reopen(
  { openRelated }: Pick<RowsCtx, 'openRelated'>,
  frame: Pick<RelatedFrame, 'opened'>,
): Promise<Map<string, RelatedTable | null> | null> {
  const opened = new Map<string, RelatedTable | null>();
  for (const [tableId, before] of frame.opened) {
    const now = await openRelated(tableId);
    if (now?.table !== before?.table) return null;
    opened.set(tableId, now);
  }
  return opened;
}

/** The query without its page and without conditions whose names have no dot. */
const relatedPairs = (search: string): string =>
  search
    .split('&')
    .filter((pair) => /^_?(?:select|sort|distinct)(?:=|$)|^[^=]*[.%+]/.test(pair))
    .join('&');
