import { type GovernedWorld, governedWorld } from '../support/governed.ts';
import { bearer, type Call, caller, done, newMember, tokenThrough } from '../support/people.ts';
import type { Random } from '../support/random.ts';
import { columnTypes, insertLines } from '../support/rows.ts';
import { jsonText, makeValue, type Value } from './random-values.ts';
import type { ModelColumn, ModelRow } from './row-model.ts';

/** Tables that refer to each other, with random rules, and people who see different parts of them. */
export interface RelatedWorld {
  world: GovernedWorld;
  tables: ModelTable[];
  views: View[];
  /** The rules of all tables, to repeat a difference. */
  described: string;
}

export interface Reference {
  column: ModelColumn;
  to: ModelTable;
}

export interface ModelTable {
  name: string;
  id: ModelColumn;
  columns: ModelColumn[];
  references: Reference[];
  rows: ModelRow[];
  rules: Rules;
}

/** What one caller sees. */
export interface View {
  name: string;
  call: Call;
  /** Of the tables that there are for the caller. */
  tables: ModelTable[];
  /** With the columns of rows that it refers to, as `author.name`. */
  columns(table: ModelTable): ModelColumn[];
  rows(table: ModelTable): ModelRow[];
  references(table: ModelTable): Reference[];
}

interface Visitor {
  id: string;
  roles: readonly string[];
  zone: string | null;
}

interface Part {
  text: string;
  isPossible?(who: Visitor): boolean;
  holds(row: ModelRow, who: Visitor): boolean;
}

interface Policy {
  filter: Part;
  column: string;
  does: 'nothing' | 'deny' | 'null';
}

interface Rules {
  read: Part[];
  columns: Map<string, Part[]>;
  policy: Policy;
}

const g = (row: ModelRow) => Number(row.get('g'));
const isIn = ({ zone }: Visitor, row: ModelRow) => zone !== null && row.get('zone') === zone;
const filters: readonly Part[] = [
  { text: 'g=in.(0,1,2)', holds: (row) => g(row) <= 2 },
  { text: 'g=neq.1', holds: (row) => g(row) !== 1 },
  { text: 'or=(g.eq.3,zone.eq.us)', holds: (row) => g(row) === 3 || row.get('zone') === 'us' },
  { text: 'zone=eq.@me.zone', isPossible: ({ zone }) => zone !== null, holds: (row, who) => isIn(who, row) },
  {
    text: 'by=eq.@me.id&g=lt.3',
    holds: (row, who) => row.get('by') === who.id && g(row) < 3,
  },
];
const isOwn: Part = { text: 'own', holds: (row, { id }) => row.get('by') === id };
const any: Part = { text: 'any', holds: () => true };
const manager = ({ roles }: Visitor) => roles.includes('manager');
const forManagers: Part = {
  text: 'role:manager',
  isPossible: manager,
  holds: (_, who) => manager(who),
};
const parts: readonly Part[] = [...filters, isOwn, any, forManagers];
const isPossible = (list: readonly Part[], who: Visitor) =>
  list.some((part) => part.isPossible?.(who) ?? true);
const holds = (list: readonly Part[], row: ModelRow, who: Visitor) =>
  list.some((part) => part.holds(row, who));

export async function relatedWorld(random: Random): Promise<RelatedWorld> {
  const world = await governedWorld();
  const { tenant, owner, app, server } = world;
  const tables: ModelTable[] = [];
  const people = await Promise.all(
    (
      [
        ['a visitor', [], null],
        ['a person of a zone', [], 'eu'],
        ['a manager', ['manager'], 'us'],
      ] as const
    ).map(async ([name, roles, zone]) => ({ name, ...(await newVisitor(roles, zone)) })),
  );
  const granted = await newVisitor([], 'us');
  const owners = [owner.id, granted.person.id, ...people.map(({ person }) => person.id)];

  const regions = await addTable('regions', 'uuid', [], 6);
  const authors = await addTable('authors', 'int', [['region_id', regions]], 16);
  const posts = await addTable('posts', 'bigint', [['author', authors]], 40);
  await addTable(
    'comments',
    'text',
    [
      ['post', posts],
      ['writer', authors],
    ],
    120,
  );
  const views = [view('the owner', caller(server, bearer(owner)), () => everything)];
  for (const { name, who, person } of people) {
    const token = await tokenThrough(server, person, `${tenant.slug}/${app.slug}`);
    views.push(view(name, caller(server, bearer({ token })), (table) => byRules(table.rules, who)));
  }
  await grantTables();
  views.push(
    view('a person with grants', caller(server, bearer(granted.person)), ({ rules }) =>
      byPolicy(rules.policy, granted.who),
    ),
  );
  return { world, tables, views, described: tables.map(describeRules).join('; ') };

  async function newVisitor(roles: readonly string[], zone: string | null) {
    const person = await newMember(tenant);
    for (const role of roles)
      await done(owner.call('POST', `${tenant.base}/apps/${app.id}/roles`, { role, user: person.id }));
    if (zone !== null)
      await done(tenant.admin.call('PATCH', `${tenant.base}/members/${person.id}`, { attributes: { zone } }));
    return { person, who: { id: person.id, roles, zone } satisfies Visitor };
  }

  async function grantTables(): Promise<void> {
    for (const table of tables) {
      const path = world.pathOf(table);
      const { filter, column, does } = table.rules.policy;
      const policy = await world.policy(path, {
        row_filter: filter.text,
        ...(does === 'deny' && { columns: { mode: 'deny', names: [column] } }),
        ...(does === 'null' && { masks: [{ column, kind: 'null' }] }),
      });
      await world.grant(granted.person, path, { policy_ids: [policy] });
    }
  }

  function newRules(names: readonly string[]): Rules {
    const list = () => random.times(1 + random.below(2), () => random.pick(parts));
    return {
      // Otherwise most of the others would have nobody who sees them.
      read: [...list(), ...(random.chance(0.5) ? [any] : [])],
      columns: new Map(random.some(names, 2).map((name) => [name, list()])),
      policy: {
        filter: random.pick(filters),
        column: random.pick(names),
        does: random.pick(['nothing', 'deny', 'null']),
      },
    };
  }

  async function addTable(
    name: string,
    idType: 'uuid' | 'int' | 'bigint' | 'text',
    refs: readonly [string, ModelTable][],
    count: number,
  ): Promise<ModelTable> {
    const id: ModelColumn = { name: 'id', type: idType, nullable: false };
    const references = refs.map(([column, to]) => ({
      column: { name: column, type: to.id.type, nullable: true },
      to,
    }));
    const plain: ModelColumn[] = random
      .some(columnTypes, 5)
      .map((type, at) => ({ name: `x${at}`, type, nullable: true }));
    const fixed: ModelColumn[] = [
      { name: 'by', type: 'uuid', nullable: false },
      { name: 'g', type: 'int', nullable: false },
      { name: 'zone', type: 'text', nullable: false },
    ];
    const columns = [id, ...references.map(({ column }) => column), ...plain, ...fixed];
    const rules = newRules([
      ...references.map(({ column }) => column.name),
      ...plain.map((each) => each.name),
    ]);
    const texts = (list: readonly Part[]) => list.map(({ text }) => text);
    await done(
      owner.call('POST', world.tables, {
        name,
        owner_column: 'by',
        columns: [
          `id:${idType}`,
          ...references.map(({ column, to }) => `${column.name}:ref:${to.name}:nullable`),
          ...plain.map((column) => `${column.name}:${column.type}:nullable`),
          ...fixed.map((column) => `${column.name}:${column.type}`),
        ],
        access: {
          preset: 'read-only',
          read: texts(rules.read),
          columns: Object.fromEntries(
            [...rules.columns].map(([column, list]) => [column, { read: texts(list) }]),
          ),
        },
      }),
    );
    const rows = random.times(count, (at) => {
      const row = new Map<string, Value | null>([
        ['id', newId(idType, at)],
        ['by', random.pick(owners)],
        ['g', random.below(4)],
        ['zone', random.pick(['eu', 'us'])],
      ]);
      for (const { column, to } of references)
        row.set(column.name, random.chance(0.15) ? null : random.pick(to.rows).get('id')!);
      for (const { name: column, type } of plain)
        row.set(column, random.chance(0.2) ? null : makeValue(type, random));
      return row;
    });
    const lines = rows.map((row) => {
      const members = columns.map(
        (column) => `"${column.name}":${jsonText(column.type, row.get(column.name) ?? null, random)}`,
      );
      return `{${members.join(',')}}`;
    });
    await insertLines(owner, `${world.data}/${name}`, lines);
    const table: ModelTable = { name, id, columns, references, rows, rules };
    tables.push(table);
    return table;
  }

  function newId(type: string, at: number): Value {
    if (type === 'uuid') return crypto.randomUUID();
    if (type === 'text') return `k${random.below(1000)}-${at}`;
    return type === 'bigint'
      ? BigInt(at + 1) * 9_007_199_254_741n * BigInt(1 + random.below(900)) + BigInt(at)
      : at * 7 - 20;
  }

  function view(name: string, call: Call, seesOf: (table: ModelTable) => Sees): View {
    const sees = new Map(tables.map((table) => [table, seesOf(table)]));
    const own = new Map(tables.map((table) => [table, seenRows(table, sees.get(table)!)]));
    const reached = tables.filter((table) => sees.get(table)!.table);
    const columns = (table: ModelTable) =>
      table.columns.filter((column) => sees.get(table)!.column(column.name));
    const references = (table: ModelTable) =>
      table.references.filter(
        ({ column, to }) => sees.get(to)!.table && sees.get(table)!.relates(column.name),
      );
    const joined = (table: ModelTable, row: ModelRow, depth: number): ModelRow => {
      const values = new Map(row);
      for (const { column, to } of depth === 0 ? [] : references(table)) {
        const found = own.get(to)!.find((each) => each.get('id') === row.get(column.name));
        const other = found && joined(to, found, depth - 1);
        for (const { name: inner } of pathColumns(to, depth - 1))
          values.set(`${column.name}.${inner}`, other?.get(inner) ?? null);
      }
      return values;
    };
    const pathColumns = (table: ModelTable, depth: number): ModelColumn[] => [
      ...columns(table),
      ...(depth === 0 ? [] : references(table)).flatMap(({ column, to }) =>
        pathColumns(to, depth - 1).map((inner) => ({
          ...inner,
          name: `${column.name}.${inner.name}`,
          nullable: true,
        })),
      ),
    ];
    const rows = new Map(
      reached.map((table) => [table, own.get(table)!.map((row) => joined(table, row, 3))]),
    );
    const paths = new Map(reached.map((table) => [table, pathColumns(table, 3)]));
    return {
      name,
      call,
      tables: reached,
      references,
      columns: (table) => paths.get(table)!,
      rows: (table) => rows.get(table)!,
    };
  }
}

/** Of one table. */
interface Sees {
  table: boolean;
  row(row: ModelRow): boolean;
  column(name: string): boolean;
  value(name: string, row: ModelRow): boolean;
  /** Whether there are relations by the column: there are none by a masked one. */
  relates(name: string): boolean;
}

const everything: Sees = {
  table: true,
  row: () => true,
  column: () => true,
  value: () => true,
  relates: () => true,
};

const byRules = ({ read, columns }: Rules, who: Visitor): Sees => ({
  table: isPossible(read, who),
  row: (row) => holds(read, row, who),
  column: (name) => isPossible(columns.get(name) ?? [any], who),
  value: (name, row) => holds(columns.get(name) ?? [any], row, who),
  relates: (name) => isPossible(columns.get(name) ?? [any], who),
});

const byPolicy = ({ filter, column, does }: Policy, who: Visitor): Sees => ({
  table: true,
  row: (row) => filter.holds(row, who),
  column: (name) => does !== 'deny' || name !== column,
  value: (name) => does !== 'null' || name !== column,
  relates: (name) => does === 'nothing' || name !== column,
});

const seenRows = ({ rows }: ModelTable, sees: Sees): ModelRow[] =>
  rows
    .filter((row) => sees.row(row))
    .map((row) => new Map([...row].map(([name, value]) => [name, sees.value(name, row) ? value : null])));

function describeRules({ name, rules: { read, columns, policy } }: ModelTable): string {
  const texts = (list: readonly Part[]) => list.map(({ text }) => text).join(' | ');
  const limits = [...columns].map(([column, list]) => `${column}: ${texts(list)}`).join(', ');
  return `${name}: read ${texts(read)}, ${limits}; policy ${policy.filter.text} ${policy.does} ${policy.column}`;
}
