import { expect } from 'bun:test';
import { type DeleteAction, deleteActions } from '@svc/contract/column-families.ts';
import { columnSpecText } from '@svc/contract/column-spec.ts';
import { mapConcurrently } from '@svc/contract/concurrency.ts';
import { sql } from 'kysely';
import type { TestDatabase } from '../../testing.ts';
import { tableRoutes } from '../routes.ts';
import { createDataSchema } from '../rows/data-schema.ts';
import { appCalls } from '../testing.ts';
import { versionColumn } from './catalogue.ts';
import { newTestTables, physicalState, qualifiedTableName } from './testing.ts';

const worldsMax = 4;
const firstId = '00000000-0000-7000-8000-000000000000';
const all = { prune: true, allow_destructive: true };

interface Column {
  name: string;
  type: string;
  nullable: boolean;
  default: string | null;
  on_delete?: DeleteAction;
  was?: string;
}
interface Table {
  was?: string;
  description: string;
  columns: Column[];
  indexes: ({ columns: string[]; unique: boolean } | { search: Record<string, string>; language: string })[];
  access: unknown;
  changes: boolean;
  history: string | null;
  soft_delete: string | null;
}
type Schema = Record<string, Table>;

/** Values of two rows, which survive a change to each type beside it and back. */
const kinds: Record<
  string,
  { values: [unknown, unknown]; default: string | null; lossless: string[]; nullable?: boolean }
> = {
  int: { values: [7, -3], default: '5', lossless: ['bigint', 'float', 'decimal(12,2)', 'text'] },
  bigint: { values: ['9007199254740993', '2'], default: '5', lossless: ['decimal(30,2)', 'text'] },
  float: { values: [1.5, -2.25], default: '0.5', lossless: ['text'] },
  'decimal(6,2)': {
    values: ['12.50', '-1.25'],
    default: '1.00',
    lossless: ['decimal(12,2)', 'decimal(8,4)', 'text'],
  },
  bool: { values: [true, false], default: 'true', lossless: ['text'] },
  date: { values: ['2026-01-31', '1999-12-31'], default: '2026-01-01', lossless: ['text'] },
  uuid: {
    values: ['0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b31', '0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b32'],
    default: 'gen_random_uuid()',
    lossless: [],
  },
  timestamptz: { values: ['2026-01-31T09:00:00Z', '2000-01-01T00:00:00Z'], default: 'now()', lossless: [] },
  text: {
    values: ['a', "it's"],
    default: 'x: "y"',
    lossless: ['text(max_length=9)', 'text(pattern="^[^0-9]")'],
  },
  'enum(a,b)': { values: ['a', 'b'], default: 'a', lossless: ['enum(a,b,c)', 'text'] },
  jsonb: { values: ['{"a": 1}', '[]'], default: '{}', lossless: [] },
  'text[]': { values: [['a'], []], default: '[]', lossless: [] },
  'int[]': { values: [[1, 2], [3]], default: '[1]', lossless: [] },
  autonumber: { values: [1, 2], default: null, lossless: [], nullable: false },
  file: { values: [null, null], default: null, lossless: [], nullable: true },
};

function newRandom(seed: number) {
  let state = seed;
  const next = () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
  const one = <T>(items: readonly T[]) => items[Math.floor(next() * items.length)] as T;
  return { one, chance: (p: number) => next() < p, upTo: (n: number) => Math.floor(next() * (n + 1)) };
}
type Random = ReturnType<typeof newRandom>;

function newColumn({ one, chance }: Random, name: string): Column {
  const type = one(Object.keys(kinds));
  const given = kinds[type]?.default ?? null;
  const hasDefault = given !== null && chance(0.5);
  // Rows exist when it is added, so it has values, a default, or is nullable.
  const nullable = kinds[type]?.nullable ?? (!hasDefault || chance(0.3));
  return { name, type, nullable, default: hasDefault ? given : null };
}

function newTable(random: Random): Table {
  const names = ['a', 'b', 'c'].slice(0, random.upTo(3));
  return withMore(random, {
    description: random.one(['', 'What it is for']),
    columns: [
      { name: 'k', type: 'int', nullable: false, default: null },
      ...names.map((name) => newColumn(random, name)),
    ],
    indexes: [],
    access: undefined,
    changes: false,
    history: null,
    soft_delete: null,
  });
}

/** Tables that may refer to themselves and to each other. */
function withReferences({ one, chance }: Random, schema: Schema): Schema {
  const names = Object.keys(schema);
  const linked = names.map((name): [string, Table] => {
    const table = schema[name] as Table;
    const own = table.columns.filter((column) => !column.type.startsWith('ref:'));
    const kept = table.columns.filter(
      ({ type }) => type.startsWith('ref:') && schema[type.slice(4)] !== undefined && chance(0.7),
    );
    const columns = kept.map((column) => ({ ...column, type: `ref:${one(names)}`, ...deletion(one) }));
    if (kept.length === 0 && chance(0.5)) columns.push(newReference('r', one, names));
    return [name, { ...table, columns: [...own, ...columns] }];
  });
  return Object.fromEntries(linked);
}

const deletion = (one: Random['one']) => ({ on_delete: one(deleteActions) });
const newReference = (name: string, one: Random['one'], to: string[]) => {
  const type = `ref:${one(to)}`;
  return { name, type, nullable: true, default: null, ...deletion(one) };
};

/** Indexes and rules for the columns that the table has. */
function withMore({ one, chance }: Random, table: Table): Table {
  const key = table.columns[0]?.name ?? 'k';
  const texts = table.columns.filter(({ type }) => type.startsWith('text') && !type.endsWith('[]'));
  return {
    ...table,
    indexes: [
      ...(chance(0.5) ? [{ columns: [key], unique: true }] : []),
      ...table.columns
        .slice(1)
        .flatMap(({ name, type }) =>
          type !== 'file' && chance(0.3) ? [{ columns: [name], unique: false }] : [],
        ),
      ...(texts.length > 0 && chance(0.3)
        ? [
            {
              search: Object.fromEntries(texts.map(({ name }) => [name, one(['A', 'D'])])),
              language: one(['simple', 'german']),
            },
          ]
        : []),
    ],
    changes: chance(0.3),
    history: one([null, null, '7d', '30d']),
    soft_delete: one([null, null, '7d', '30d']),
    access: one([
      'read-only',
      'read-write',
      'closed',
      { read: ['any'], write: ['role:cook'] },
      { read: [`${key}=gt.1`, 'role:cook'], columns: { [key]: { write: ['none'] } } },
    ]),
  };
}

const newSchema = (random: Random): Schema =>
  withReferences(
    random,
    Object.fromEntries(['t1', 't2'].slice(0, 1 + random.upTo(1)).map((name) => [name, newTable(random)])),
  );

/** Another schema, and the first one as it is written after it, with the renames back. */
function changedSchema(random: Random, from: Schema): { there: Schema; back: Schema } {
  const there: Schema = {};
  const back: Schema = {};
  for (const [name, table] of Object.entries(from)) {
    const backTable = { ...table, columns: [...table.columns] };
    back[name] = backTable;
    if (random.chance(0.15)) continue;
    const to = random.chance(0.3) ? `${name}_new` : name;
    const columns = table.columns.flatMap((column, at): Column[] => {
      if (at > 0 && random.chance(0.2)) return [];
      const renamed = random.chance(0.25) ? { name: `${column.name}_new`, was: column.name } : {};
      if ('was' in renamed) backTable.columns[at] = { ...column, was: renamed.name };
      const type = random.chance(0.4)
        ? random.one([column.type, ...(kinds[column.type]?.lossless ?? [])])
        : column.type;
      const isKey = at === 0;
      const fallback = type === column.type ? column.default : null;
      return [{ ...column, ...renamed, type: isKey ? column.type : type, default: isKey ? null : fallback }];
    });
    if (random.chance(0.4)) columns.push(newColumn(random, 'z'));
    there[to] = withMore(random, { ...table, columns });
    if (to !== name) {
      there[to] = { ...there[to], was: name } as Table;
      backTable.was = to;
    }
  }
  if (random.chance(0.3)) there.extra = newTable(random);
  return { there: changedReferences(random, there), back };
}

/** References to the tables of the new schema, under their new names; some become columns with ids, and others the reverse. */
function changedReferences(random: Random, schema: Schema): Schema {
  const names = Object.keys(schema);
  const follow = (column: Column): Column[] => {
    const target = column.type.slice('ref:'.length);
    const to = names.find((name) => name === target || schema[name]?.was === target);
    const { on_delete: _, ...plain } = column;
    const asIds = { ...plain, type: 'uuid' };
    if (to === undefined || random.chance(0.2)) return [asIds];
    return [{ ...column, type: `ref:${to}`, ...deletion(random.one) }];
  };
  const followed = Object.entries(schema).map(([name, table]): [string, Table] => [
    name,
    {
      ...table,
      columns: table.columns.flatMap((column) =>
        column.type.startsWith('ref:') ? follow(column) : [column],
      ),
    },
  ]);
  const after = Object.fromEntries(followed);
  const some = after[random.one(names)];
  if (some && random.chance(0.3)) some.columns.push(newReference('s', random.one, names));
  return after;
}

const declared = (schema: Schema) =>
  Object.fromEntries(
    Object.entries(schema).map(([name, { columns, ...table }]) => [
      name,
      {
        ...table,
        columns: columns.map(({ was, ...column }) => {
          const [, type = column.type, checks] = /^(text)(\(.*\))$/.exec(column.type) ?? [];
          if (checks === undefined) return was === undefined ? column : { ...column, was };
          if (was === undefined) return columnSpecText({ ...column, type: column.type as 'text' });
          const [, check = '', value = ''] = /\((\w+)=(.*)\)/.exec(checks) ?? [];
          return {
            ...column,
            type,
            was,
            checks: { [check]: check === 'pattern' ? value.slice(1, -1) : Number(value) },
          };
        }),
      },
    ]),
  );

async function newWorld(database: TestDatabase) {
  const t = await newTestTables(database);
  const call = appCalls(database, t, { routes: tableRoutes, path: '/schema' })(t.owner, t.app);
  const exported = async () => {
    const { tables } = (await call('GET', '')).body;
    // New columns come last, wherever the file has them, and names of indexes that the file does not name are free.
    for (const table of Object.values<{
      columns: unknown[];
      indexes?: { columns?: string[]; unique?: boolean; search?: object; language?: string }[];
    }>(tables)) {
      table.columns.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
      table.indexes = (table.indexes ?? [])
        .map(({ columns, unique = false, search, language }) => ({ columns, unique, search, language }))
        .sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
    }
    return tables;
  };
  const rowsOf = async (name: string, columns: readonly string[]) => {
    const table = await t.catalogue(name);
    if (!table) return null;
    const fields = columns.map((column) => {
      const { physical } = table.columns.find((each) => each.name === column) ?? { physical: 'null' };
      return `${physical}::text as "${column}"`;
    });
    const target = qualifiedTableName(t.app, table);
    const { rows } =
      await sql`select ${sql.raw(fields.join(', '))} from ${sql.raw(target)} order by ${sql.raw(table.columns[0]?.physical ?? '')}`.execute(
        database.db,
      );
    return rows;
  };
  const fill = async (name: string, columns: readonly Column[]) => {
    const table = await t.catalogue(name);
    if (!table) throw new Error(`There is no table ${name}.`);
    // The database gives the numbers itself.
    const given = table.columns.filter(({ type }) => type !== 'autonumber');
    for (const at of [0, 1] as const) {
      const values = given.map(({ name: column, role }) => {
        if (role === 'id') return at === 0 ? firstId : firstId.replace(/0$/, '1');
        if (role !== 'plain') return new Date(0);
        if (column === 'k') return at + 1;
        const type = columns.find((each) => each.name === column)?.type ?? '';
        // The first row of the table, which every table has when it gets its second.
        if (type.startsWith('ref:')) return at === 1 && type === `ref:${name}` ? firstId : null;
        return kinds[type]?.values[at];
      });
      const names = [...given.map(({ physical }) => physical), versionColumn];
      await sql`insert into ${sql.raw(qualifiedTableName(t.app, table))} (${sql.raw(names.join(', '))})
        values (${sql.join([...values, 1])})`.execute(database.db);
    }
  };
  const apply = async (tables: object, more: object = all) => call('POST', '', { tables, ...more });
  return {
    ...t,
    apply,
    exported,
    rowsOf,
    fill,
    check: (tables: object) => call('POST', '/check', { tables }),
  };
}

/** Random changes of a schema and back give the first one with its rows, and failures change nothing. */
export async function changeSchemas(
  database: TestDatabase,
  { from, pairs }: { from: number; pairs: number },
): Promise<void> {
  const started = performance.now();
  const codes = new Map<string, number>();
  await createDataSchema({ url: database.url, role: null });
  const counts = { renames: 0, steps: 0, failures: 0, keptRows: 0 };
  const worlds = await Promise.all(Array.from({ length: worldsMax }, () => newWorld(database)));
  await mapConcurrently(
    Array.from({ length: pairs }, (_, at) => from + at),
    worldsMax,
    async (seed) => {
      const world = worlds.pop() ?? (await newWorld(database));
      const random = newRandom(seed * 7919);
      const first = newSchema(random);
      const { there, back } = changedSchema(random, first);
      const ok = async (schema: Schema) => {
        const { status, body } = await world.apply(declared(schema));
        if (status !== 200)
          throw new Error(`seed ${seed}: ${JSON.stringify([body, declared(schema)], null, 1)}`);
        counts.steps += body.steps.length;
        counts.renames += body.steps.filter(({ kind }: { kind: string }) => kind.startsWith('rename')).length;
        expect([seed, (await world.check(declared(schema))).body]).toEqual([
          seed,
          { differs: false, steps: [] },
        ]);
      };
      await world.apply({});
      await ok(first);
      for (const [name, { columns }] of Object.entries(first)) await world.fill(name, columns);
      const state = async () => {
        const names = Object.keys(first);
        const rows = names.map((name) =>
          world.rowsOf(name, first[name]?.columns.map((column) => column.name) ?? []),
        );
        return { schema: await world.exported(), rows: await Promise.all(rows) };
      };
      const before = await state();
      if (seed % 5 === 0) {
        const physical = await physicalState(database, world.app);
        const name = Object.keys(first).at(-1) ?? '';
        const isInRules = JSON.stringify(first[name]?.access).includes('k=gt.1');
        const [spoiled, refusal] = random.one<[table: object, refusal: string]>([
          [{ columns: ['k:int', 'must:int'] }, 'not_null_violation'],
          [{ columns: [{ name: 'k', type: 'int', checks: { min: 2 } }] }, 'check_violation'],
          [{ columns: ['k:uuid'] }, isInRules ? 'column_in_use' : 'type_change_refused'],
          [{ columns: ['k:int', 'same:int:1'], indexes: ['same:unique'] }, 'unique_violation'],
        ]);
        const others = Object.entries(declared(there)).filter(([, { was }]) => was !== name);
        // References to the table under its new name, which it does not get here.
        const kept = JSON.stringify(Object.fromEntries(others)).replaceAll(
          `"ref:${name}_new"`,
          `"ref:${name}"`,
        );
        const tables = { ...JSON.parse(kept), more: { columns: ['x:int'] }, [name]: spoiled };
        const { status, body } = await world.apply(tables);
        expect([seed, spoiled, status, body.code]).toEqual([seed, spoiled, 409, refusal]);
        codes.set(body.code, (codes.get(body.code) ?? 0) + 1);
        expect([seed, await state()]).toEqual([seed, before]);
        expect(await physicalState(database, world.app)).toEqual(physical);
        counts.failures++;
      }
      await ok(there);
      await ok(back);
      const after = await state();
      expect([seed, after.schema]).toEqual([seed, before.schema]);
      Object.keys(first).forEach((name, at) => {
        const isKept = there[name] !== undefined || there[`${name}_new`] !== undefined;
        const kept =
          (there[name] ?? there[`${name}_new`])?.columns.map(({ name: to, was }) => was ?? to) ?? [];
        const pick = (rows: unknown[] | null | undefined) =>
          rows?.map((row) => kept.map((column) => (row as Record<string, unknown>)[column]));
        const expected = isKept ? pick(before.rows[at]) : [];
        expect([seed, name, pick(after.rows[at])]).toEqual([seed, name, expected]);
        counts.keptRows += after.rows[at]?.length ?? 0;
      });
      worlds.push(world);
    },
  );
  const seconds = Math.round((performance.now() - started) / 1000);
  console.log(
    `schema: ${pairs} pairs in ${seconds} s: ${JSON.stringify({ ...counts, ...Object.fromEntries(codes) })}`,
  );
}
