import { describe, expect, test } from 'bun:test';
import { presetRules } from '@svc/contract/table-rules.ts';
import { databaseError } from '../../core/db.ts';
import type { QueryResult } from '../../drivers/row-database/connection.ts';
import type { Transaction } from '../../drivers/row-database/row-pool.ts';
import { testCaller } from '../../testing.ts';
import { createLogSql } from '../tables/change-log.ts';
import { allOf, never, type PlannedCondition } from '../tables/conditions.ts';
import { addColumnSql, copyTableSql, createTableSql, dropTableSql, swapTableSql } from '../tables/ddl.ts';
import { addForeignKeySql } from '../tables/references-ddl.ts';
import type { ColumnRow, TableRow } from '../tables/store.ts';
import type { Access } from './access.ts';
import { aggregateSql, planAggregate } from './aggregate-rows.ts';
import type { RowsCtx } from './context.ts';
import { changesSql } from './feed-changes.ts';
import type { Mask } from './masks.ts';
import { parseQuery } from './parse-query.ts';
import { planList, planWhere } from './plan.ts';
import { rowError } from './row-errors.ts';
import { createOutput, type RowTable, rowTable } from './row-table.ts';
import { cappedCountSql, countSql, estimateSql, exportSql, listSql, oneSql, violationSql } from './sql.ts';
import { idColumn, nameColumn, testColumn, testTable, typedColumns } from './testing.ts';
import { UpsertRows } from './upsert-rows.ts';
import { deleteSql, insertSql, lockSql, updateSql } from './write-sql.ts';

/**
 * What Citus asks of a statement on tables of a distributed schema (`docs/guides/citus.md`): one schema in each, and only
 * immutable functions in `do update` and `returning`, the former without bound values. Each check is of the SQL text: no Citus is needed.
 */
const updatedAt = testColumn('updated_at', 8, { type: 'timestamptz', role: 'updated_at', nullable: false });
const table = testTable({
  columns: [idColumn, updatedAt, nameColumn, ...typedColumns],
  owner: null,
  unique: [{ physical: `i_${'0'.repeat(32)}`, columns: [nameColumn] }],
});

/** One test of each operator, with the types that have it. */
const search = [
  'text=eq.a&text=neq.a&int=gt.1&int=gte.1&float=lt.1&float=lte.1&name=in.(a,b)&date=between.(2026-01-01,2026-01-02)',
  'text=like.a*&text=ilike.a*&text=sw.a&text=ew.a&text=has.a&text=isw.a&text=iew.a&text=ihas.a',
  'jsonb=cs.{}&jsonb=cd.{}&jsonb=hk.a&texts=ov.(a)&bool=is.true&uuid=is.null',
  'timestamptz=gt.2026-01-02T03:04:05Z&bigint=eq.1&ints=cs.[1]&or=(int.eq.1,not.and(text.eq.a,int.eq.2))',
].join('&');
const conditions = planWhere(table, parseQuery(search, 'count').where);
const rule = allOf(conditions);

const masks: Mask[] = [
  { kind: 'hash', args: {} },
  { kind: 'truncate', args: { to: 'year' } },
  { kind: 'email', args: {} },
];
const [hash, truncate, email] = masks;
const maskOf = (name: string) => ({ text: hash, timestamptz: truncate, name: email })[name] ?? null;
const masked = rowTable(table.catalogue, {
  rows: rule,
  columns: table.catalogue.columns.map((column) => ({
    column: column.name === 'text' ? { ...column } : column,
    source: column,
    cases: [{ when: rule, mask: maskOf(column.name) }],
  })),
  keys: { inner: '\\x00', outer: '\\x00' },
});
const narrowed = rowTable(table.catalogue, { ...table.view, rows: rule });

const changeTexts = (of: RowTable, allowed: PlannedCondition): string[] => {
  const changed = [
    { column: nameColumn, value: 'a' },
    { column: updatedAt, value: { sql: 'now()' } },
  ];
  const row = { where: conditions, allowed, returnsId: true };
  return [
    insertSql(of, changed, { version: '1', returning: of.all, check: allowed }),
    updateSql(of, changed, row, '1'),
    deleteSql(of, row, '1'),
    lockSql(of, row, { output: createOutput([]), changed, rowsMax: 3 }),
  ].map(({ text }) => text);
};

function accessWith(where: PlannedCondition): Access {
  const part = { where, columns: null, writable: null };
  return {
    actions: new Set(['read', 'insert', 'update', 'delete']),
    alternatives: [
      {
        because: [],
        reads: { read: part },
        changes: { insert: part, update: part, delete: part },
        insertsOwn: false,
      },
    ],
    insertsOwn: false,
  };
}

/** The statements that an upsert sends. */
async function upsertTexts(where: PlannedCondition, resolution: 'merge' | 'ignore'): Promise<string[]> {
  const texts: string[] = [];
  const tx = {
    query: async (text: string): Promise<QueryResult> => {
      texts.push(text);
      return { rows: text.startsWith('insert') ? [['1', 'true']] : [] };
    },
  } as unknown as Transaction;
  const ctx = { table, access: accessWith(where), caller: testCaller() } as unknown as RowsCtx;
  const upsert = new UpsertRows(ctx, { on: [nameColumn], resolution });
  const values = table.catalogue.columns.map(({ name }) => (name === 'name' ? 'a' : null));
  upsert.add(1, values, [...values]);
  await upsert.store(tx);
  return texts.filter((text) => !text.startsWith('savepoint'));
}

const writeTexts = async () => [
  ...changeTexts(table, rule),
  ...changeTexts(narrowed, rule),
  ...changeTexts(masked, rule),
  ...(await upsertTexts(rule, 'merge')),
  ...(await upsertTexts(rule, 'ignore')),
];

function readTexts(): string[] {
  const list = parseQuery(`${search}&sort=-int,name&page=2`, 'list');
  return [table, narrowed, masked].flatMap((of) => {
    const plan = planList(of, list, () => []);
    return [
      listSql(plan),
      exportSql(plan),
      countSql(of, conditions),
      cappedCountSql(of, conditions),
      estimateSql(of, conditions),
      oneSql(of, of.all, conditions),
      violationSql(of, ['1'], rule),
      aggregateSql(planAggregate(of, parseQuery('select=bool,n:count(),s:int.sum()', 'aggregate'), () => [])),
      changesSql(
        { table: of, where: conditions, output: of.all },
        { from: '1:1:', to: '2:2:', seq: '1', takenAt: 0 },
      ),
    ].map(({ text }) => text);
  });
}

const columnRow = (number: number, rest: Partial<ColumnRow> = {}): ColumnRow => ({
  number,
  name: `column${number}`,
  type: 'text',
  nullable: false,
  default_text: null,
  role: 'plain',
  ...rest,
});
const reference = columnRow(3, {
  type: 'uuid',
  nullable: true,
  ref_table: '00000000-0000-7000-8000-000000000002',
  target: { name: 'others', id_number: 1 },
  on_delete: 'cascade',
});
const row: TableRow = {
  id: '00000000-0000-7000-8000-000000000001',
  tenant_id: '00000000-0000-7000-8000-00000000000b',
  app_id: '00000000-0000-7000-8000-00000000000c',
  name: 'pets',
  description: '',
  owner_column: null,
  changes: false,
  history_days: null,
  soft_delete_days: null,
  rules: presetRules.own,
  version: 1,
  columns_made: 3,
  attributes_made: 3,
  created_by: '00000000-0000-7000-8000-00000000000d',
  created_at: new Date(0),
  updated_at: new Date(0),
  columns: [columnRow(1, { type: 'uuid', role: 'id' }), columnRow(2), reference],
  indexes: [
    {
      id: '00000000-0000-7000-8000-00000000000e',
      name: 'words',
      columns: [2],
      is_unique: false,
      search: { language: 'english', weights: ['A'] },
      created_at: '',
    },
  ],
};
const defaults = [
  columnRow(4, { default_text: `it's "quoted"` }),
  columnRow(5, { type: 'int', default_text: '7' }),
  columnRow(6, { type: 'timestamptz', default_text: 'now()' }),
  columnRow(7, { type: 'enum(open,paid)', default_text: 'open', checks: null }),
];
const ddlTexts = () =>
  [
    ...createTableSql(row, null),
    ...createLogSql(row, null),
    ...defaults.flatMap((column) => addColumnSql(row, column)),
    ...addForeignKeySql(row, reference, { isValid: false }),
    ...copyTableSql(row, [], { role: null }),
    ...swapTableSql(row),
    ...dropTableSql(row),
  ].map(({ text }) => text);

/** Names before a parenthesis that are functions, not words of SQL. */
function functionsIn(sql: string): string[] {
  const words = [
    'any',
    'and',
    'or',
    'not',
    'in',
    'where',
    'conflict',
    'as',
    'values',
    'from',
    'is',
    'on',
    'then',
  ];
  return [...sql.matchAll(/\b([a-z_]+) ?\(/g)].flatMap(([, name = '']) =>
    words.includes(name) ? [] : [name],
  );
}

const after = (text: string, word: string) =>
  text
    .split(new RegExp(`\\b${word}\\b`))
    .slice(1)
    .join(' ');

describe('of the statements that rows and tables send to Citus', () => {
  test('each names one schema', async () => {
    const texts = [...(await writeTexts()), ...readTexts(), ...ddlTexts()];
    for (const text of texts) {
      const schemas = new Set([...text.matchAll(/"?(app_\w+|svc_data)"?\./g)].map(([, name]) => name));
      expect([text, schemas.size]).toEqual([text, Math.min(schemas.size, 1)]);
    }
    expect(texts.length).toBeGreaterThan(60);
  });

  test('no function is called when an upsert changes a row', async () => {
    const merges = (await upsertTexts(rule, 'merge')).filter((text) => text.startsWith('insert'));
    for (const text of merges) {
      const action = after(text, 'do update');
      expect(action).toContain('"c8" = excluded."c8"');
      expect(functionsIn(action)).toEqual([]);
      // Workers get no bound values there.
      expect(action).not.toMatch(/\$\d/);
      expect(action).toContain(`t."c10" = any(U&'`);
    }
    expect(merges).toHaveLength(1);
  });

  test('no function is called in what a change returns; masks are applied to its result', async () => {
    for (const text of await writeTexts()) {
      const [returned = ''] = after(text, 'returning').split(') select ');
      expect([text, functionsIn(returned)]).toEqual([text, []]);
    }
    const [insert = '', update = '', remove = ''] = changeTexts(masked, rule);
    for (const text of [insert, update, remove]) expect(text).toContain(' returning t.*) select ');
    expect(insert).toContain('convert_to(');
  });

  test('an insert has no bound values in what it returns, also where only some rows are seen', () => {
    for (const of of [table, narrowed, masked]) {
      const [insert = ''] = changeTexts(of, rule);
      const [returned = ''] = after(insert, 'returning').split(') select ');
      expect(insert).toStartWith(of === table ? 'insert into ' : 'with t as (insert into ');
      expect(returned).not.toMatch(/\$\d/);
    }
  });

  test('what a change with masks is allowed to change depends on the row, also where nothing is', () => {
    for (const allowed of [rule, never]) {
      const [, update = '', remove = ''] = changeTexts(masked, allowed);
      for (const text of [update, remove]) {
        const [where = ''] = after(text, 'where').split(' returning ');
        const ofRow = /\(case when t\."c1" is not null then (.+) end\)/;
        expect(where.replace(ofRow, '')).not.toMatch(/\bfalse\b|\$\d+::\S+ (?:=|<>|<|>|is|like)/);
        expect(ofRow.exec(where)?.[1]).toMatch(allowed === never ? /^false/ : /"c10"/);
      }
    }
  });

  test('an update calls only functions without arguments, which the coordinator evaluates', async () => {
    const updates = (await writeTexts()).filter((text) => /^(with t as \()?update /.test(text));
    for (const text of updates) {
      const [change = ''] = text.split(' returning ');
      expect(functionsIn(change).filter((name) => name !== 'now')).toEqual([]);
    }
    expect(updates.length).toBe(3);
  });

  test('no definition depends on the settings of a session, which workers do not have', () => {
    const log = createLogSql(row, null).map(({ text }) => text);
    for (const text of ddlTexts().filter((each) => !log.includes(each)))
      expect(text).not.toMatch(/current_setting|set_config/);
  });
});

test.each([
  [
    '23505',
    `duplicate key value violates unique constraint "i_${'0'.repeat(32)}_102008"`,
    'unique_violation',
    'name',
  ],
  [
    '23505',
    `duplicate key value violates unique constraint "p_${'0'.repeat(32)}_102008"`,
    'unique_violation',
    'id',
  ],
  [
    '23514',
    `new row for relation "t_1_102007" violates check constraint "k12_min_length_102008"`,
    'validation_failed',
    'int',
  ],
] as const)('an error %s of a worker, %s, names the column', (code, message, expected, column) => {
  const failure = rowError(Object.assign(new Error(message), { severity: 'ERROR', code }), table);
  expect(failure?.code).toBe(expected);
  expect(failure?.errors?.map((each) => each.column)).toEqual([column]);
});

test('an error of COPY on a worker, which has no code, is explained too', () => {
  const explained = (message: string) =>
    rowError(Object.assign(new Error(message), { severity: 'ERROR', code: 'XX000' }), table, 7)?.code;
  expect(explained(`duplicate key value violates unique constraint "i_${'0'.repeat(32)}_102008"`)).toBe(
    'unique_violation',
  );
  expect(explained('row is too big: size 16264, maximum size 8160')).toBe('validation_failed');
  expect(explained('cache lookup failed')).toBeUndefined();
});

test('a worker that is lost makes a call unavailable', () => {
  const codeOf = (message: string) =>
    databaseError(Object.assign(new Error(message), { severity: 'ERROR', code: 'XX000' }))?.code;
  expect(codeOf('failure on connection marked as essential: 10.0.0.2:5432')).toBe('unavailable');
  expect(codeOf('SSL SYSCALL error: EOF detected')).toBe('unavailable');
  expect(codeOf('could not commit transaction for shard 103178 on at least one active node')).toBe(
    'unavailable',
  );
  expect(codeOf('server closed the connection unexpectedly')).toBe('unavailable');
  expect(codeOf('cache lookup failed')).toBeUndefined();
});
