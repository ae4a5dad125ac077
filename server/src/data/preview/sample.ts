import { previewRowsMax } from '@svc/contract/access-preview.ts';
import { parseLossless } from '@svc/contract/json.ts';
import type { AppRows } from '../../drivers/row-database/row-pool.ts';
import { JsonRows } from '../rows/formats.ts';
import type { Mask } from '../rows/masks.ts';
import { parseQuery } from '../rows/parse-query.ts';
import { planList } from '../rows/plan.ts';
import { withColumnName } from '../rows/row-errors.ts';
import {
  type RowTable,
  rowTable,
  type TableView,
  type ViewCase,
  type ViewColumn,
  wholeView,
} from '../rows/row-table.ts';
import { countSql, listSql } from '../rows/sql.ts';
import type { CatalogueColumn, TableCatalogue } from '../tables/catalogue.ts';
import { allOf, always, type PlannedCondition } from '../tables/conditions.ts';
import { isClear, isSame } from './describe.ts';
import { comparedColumns } from './words.ts';

export async function countRows(rowDb: AppRows, table: RowTable, where: readonly PlannedCondition[] = []) {
  const { text, values } = countSql(table, where);
  const { rows } = await rowDb.run('read', text, values);
  return Number(rows[0]?.[0] ?? 0);
}

export const wholeTable = (catalogue: TableCatalogue) => rowTable(catalogue, wholeView);

export async function readSample(rowDb: AppRows, table: RowTable): Promise<Record<string, unknown>[]> {
  const plan = planList(table, parseQuery(`per_page=${previewRowsMax}`, 'list'), () => []);
  const { text, values } = listSql(plan);
  let sample: unknown[] = [];
  const receive = () => {
    sample = [];
    return (bytes: Buffer, start: number) => {
      if (sample.length === previewRowsMax) return;
      const row = new JsonRows(1024);
      row.row(plan.output.shape, bytes, start);
      sample.push(parseLossless(Buffer.from(row.written()).toString('utf8')));
    };
  };
  try {
    await rowDb.run('read', text, values, receive);
  } catch (error) {
    throw withColumnName(error, plan.output);
  }
  return sample as Record<string, unknown>[];
}

interface SharedTable {
  table: RowTable;
  withheldColumns: string[];
}

/**
 * The table as the person sees it, within what the caller sees: rows that both see, and values that the caller sees in the
 * clear or under the same mask. Null if the person's conditions compare what the caller cannot see: which rows meet them
 * would then reveal it.
 */
export function shareTable(person: RowTable, caller: RowTable): SharedTable | null {
  const { catalogue, view } = person;
  const conditions = [
    view.rows,
    ...(view.columns ?? []).flatMap(({ cases }) => cases.map(({ when }) => when)),
  ];
  if (!conditions.flatMap(comparedColumns).every((column) => isClear(caller.view, column))) return null;
  const columns = view.columns ?? catalogue.columns.map(clearColumn);
  const shared = columns.map((column) => shareColumn(column, caller.view));
  const isUnchanged = shared.every((column, at) => column === columns[at]);
  const rows = allOf([view.rows, caller.view.rows]);
  const sharedView: TableView = { ...view, rows, columns: isUnchanged ? view.columns : shared };
  return {
    table: rowTable(catalogue, sharedView),
    withheldColumns: columns.flatMap(({ column }, at) =>
      shared[at] !== columns[at] && column.name !== '' ? [column.name] : [],
    ),
  };
}

const clearColumn = (source: CatalogueColumn): ViewColumn => ({ column: source, source, cases: [] });
const nothing: Mask = { kind: 'null', args: {} };

function shareColumn(column: ViewColumn, caller: TableView): ViewColumn {
  if (column.column.name === '' || isClear(caller, column.source)) return column;
  const own = caller.columns?.find(
    ({ source, column: { name } }) => isSame(source, column.source) && name !== '',
  );
  const seen: readonly ViewCase[] = column.cases.length > 0 ? column.cases : [{ when: always, mask: null }];
  const known = own?.cases ?? [];
  if (JSON.stringify(seen) === JSON.stringify(known)) return column;
  const cases = seen.flatMap(({ when, mask }) => [
    ...known.map((each) => ({
      when: allOf([when, each.when]),
      mask: each.mask === null || isSameMask(each.mask, mask) ? mask : nothing,
    })),
    { when, mask: nothing },
  ]);
  return { ...column, column: { ...column.column, nullable: true }, cases };
}

const isSameMask = (one: Mask, other: Mask | null) => JSON.stringify(one) === JSON.stringify(other);
