import { beforeAll, expect, test } from 'bun:test';
import { conditionsMax } from '@svc/contract/rows.ts';
import { setApp } from '../support/database.ts';
import { bearer, type Call, caller, done, newMember, tokenThrough } from '../support/people.ts';
import { newRandom } from '../support/random.ts';
import { columnTypes, insertLines, type RowsWorld, rowsWorld } from '../support/rows.ts';
import { repeatConcurrently } from '../support/until.ts';
import { countTests, makeQuery } from './random-queries.ts';
import { jsonText, makeValue, shownValue, type Value } from './random-values.ts';
import { answerOf, type Condition, type ModelColumn, type ModelRow } from './row-model.ts';

/** Random queries with related rows, of callers with and without rules, against a model in memory. */
export function embedsModel({ queries }: { queries: number }): void {
  const random = newRandom();

  interface Reference {
    column: ModelColumn;
    to: ModelTable;
  }

  interface ModelTable {
    name: string;
    id: ModelColumn;
    columns: ModelColumn[];
    references: Reference[];
    rows: ModelRow[];
    /** Of a visitor. */
    isVisible: (row: ModelRow) => boolean;
    hidden: readonly string[];
  }

  /** What one caller sees. */
  interface View {
    name: string;
    call: Call;
    columns(table: ModelTable): ModelColumn[];
    rows(table: ModelTable): ModelRow[];
  }

  interface Node {
    table: ModelTable;
    items: ({ key: string; column: ModelColumn } | { key: string; embed: Embed })[];
    where: Condition[];
    sort: { column: ModelColumn; descending: boolean }[];
    limit: number;
    nulls: { embed: Embed; isNull: boolean }[];
  }

  interface Embed {
    kind: 'one' | 'many';
    reference: Reference;
    isInner: boolean;
    isShown: boolean;
    node: Node;
  }

  let world: RowsWorld;
  const tables: ModelTable[] = [];
  const views: View[] = [];

  beforeAll(async () => {
    world = await rowsWorld();
    const { tenant, owner, app, server } = world;
    await setApp(server, app.id, { visibility: 'public' });
    const regions = await addTable(
      'regions',
      'uuid',
      [],
      6,
      { read: ['g=in.(0,1,2)'] },
      (g) => Number(g) <= 2,
    );
    const authors = await addTable(
      'authors',
      'int',
      [['region_id', regions]],
      14,
      { read: ['g=neq.1'] },
      (g) => g !== 1,
    );
    const posts = await addTable(
      'posts',
      'bigint',
      [['author', authors]],
      40,
      { read: ['any'] },
      () => true,
      ['x0'],
    );
    await addTable(
      'comments',
      'text',
      [
        ['post', posts],
        ['writer', authors],
      ],
      120,
      { read: ['g=lt.3'] },
      (g) => Number(g) < 3,
    );
    const visitor = await newMember(tenant);
    const token = await tokenThrough(server, visitor, `${tenant.slug}/${app.slug}`);
    views.push(
      view('the owner', caller(server, bearer(owner)), false),
      view('a visitor', caller(server, bearer({ token })), true),
    );
    console.log(`embeds model: seed ${random.seed}`);
  });

  function view(name: string, call: Call, isLimited: boolean): View {
    const rows = new Map<ModelTable, ModelRow[]>();
    const columns = ({ columns: all, hidden }: ModelTable) =>
      isLimited ? all.filter((column) => !hidden.includes(column.name)) : all;
    const own = (table: ModelTable) => (isLimited ? table.rows.filter(table.isVisible) : table.rows);
    /** With the columns of rows that it refers to, as `author.name`. */
    const joined = (table: ModelTable, row: ModelRow, depth: number): ModelRow => {
      const values = new Map(row);
      for (const { column, to } of depth === 0 ? [] : table.references) {
        const found = own(to).find((each) => each.get(to.id.name) === row.get(column.name));
        const other = found && joined(to, found, depth - 1);
        for (const { name: inner } of pathColumns(to, depth - 1))
          values.set(`${column.name}.${inner}`, other?.get(inner) ?? null);
      }
      return values;
    };
    const pathColumns = (table: ModelTable, depth: number): ModelColumn[] => [
      ...columns(table),
      ...(depth === 0 ? [] : table.references).flatMap(({ column, to }) =>
        pathColumns(to, depth - 1).map((inner) => ({
          ...inner,
          name: `${column.name}.${inner.name}`,
          nullable: true,
        })),
      ),
    ];
    return {
      name,
      call,
      columns: (table) => pathColumns(table, 2),
      rows: (table) => {
        const known = rows.get(table) ?? own(table).map((row) => joined(table, row, 2));
        rows.set(table, known);
        return known;
      },
    };
  }

  async function addTable(
    name: string,
    idType: 'uuid' | 'int' | 'bigint' | 'text',
    refs: readonly [string, ModelTable][],
    count: number,
    access: object,
    isVisible: (g: Value | null | undefined) => boolean,
    hidden: readonly string[] = [],
  ): Promise<ModelTable> {
    const id: ModelColumn = { name: 'id', type: idType, nullable: false };
    const references = refs.map(([column, to]) => ({
      column: { name: column, type: to.id.type, nullable: true },
      to,
    }));
    const plain: ModelColumn[] = random
      .some(columnTypes, 5)
      .map((type, at) => ({ name: `x${at}`, type, nullable: true }));
    const g: ModelColumn = { name: 'g', type: 'int', nullable: false };
    const columns = [id, ...references.map(({ column }) => column), ...plain, g];
    const limits = Object.fromEntries(hidden.map((column) => [column, { read: ['none'] }]));
    await done(
      world.owner.call('POST', world.tables, {
        name,
        columns: [
          `id:${idType}`,
          ...references.map(({ column, to }) => `${column.name}:ref:${to.name}:nullable`),
          ...plain.map((column) => `${column.name}:${column.type}:nullable`),
          'g:int',
        ],
        access: { preset: 'read-only', ...access, columns: limits },
      }),
    );
    const rows = random.times(count, (at) => {
      const row = new Map<string, Value | null>([
        ['id', newId(idType, at)],
        ['g', random.below(4)],
      ]);
      for (const { column, to } of references)
        row.set(column.name, random.chance(0.15) ? null : random.pick(to.rows).get('id')!);
      for (const { name: column, type } of plain)
        row.set(column, random.chance(0.2) ? null : makeValue(type, random));
      return row;
    });
    const lines = rows.map(
      (row) =>
        `{${columns.map((column) => `"${column.name}":${jsonText(column.type, row.get(column.name) ?? null, random)}`).join(',')}}`,
    );
    await insertLines(world.owner, `${world.data}/${name}`, lines);
    const table: ModelTable = {
      name,
      id,
      columns,
      references,
      rows,
      isVisible: (row) => isVisible(row.get('g')),
      hidden,
    };
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

  interface Made {
    node: Node;
    select: string;
    parameters: string[];
    tests: number;
  }

  function makeNode(
    of: View,
    table: ModelTable,
    prefix: string,
    depth: number,
    kind: 'top' | 'one' | 'many',
  ): Made {
    const made = kind === 'one' ? null : makeQuery(random, of.columns(table), of.rows(table));
    const own = of.columns(table).filter(({ name }) => !name.includes('.'));
    const node: Node = {
      table,
      items: random.some(own, 1 + random.below(4)).map((column) => ({ key: column.name, column })),
      where: made?.where ?? [],
      sort: made?.sort ?? [],
      limit: 100,
      nulls: [],
    };
    const parameters = (made?.parameters ?? [])
      .filter((text) => !text.startsWith('select='))
      .map((text) => `${prefix}${text}`);
    let tests = node.where.reduce((sum, condition) => sum + countTests(condition), 0);
    if (kind === 'many' && random.chance(0.4)) {
      node.limit = 1 + random.below(4);
      parameters.push(`${prefix}${random.pick(['limit', '_limit'])}=${node.limit}`);
    }
    const texts = node.items.map(({ key }) => key);
    const count = depth >= 3 ? 0 : random.pick(depth === 0 ? [0, 1, 1, 2, 3] : [0, 0, 1]);
    for (let at = 0; at < count; at++) {
      const { embed, text, name } = makeEmbed(table);
      const key = random.chance(0.5) ? `e${at}` : name;
      if (node.items.some((item) => item.key === key)) continue;
      const inner = makeNode(of, embed.node.table, `${prefix}${key}.`, depth + 1, embed.kind);
      embed.node = inner.node;
      if (!embed.isShown && inner.node.items.length > 0) inner.node.items = [];
      node.items.push({ key, embed });
      texts.push(`${key === name ? '' : `${key}:`}${text}(${embed.isShown ? inner.select : ''})`);
      if (embed.isShown) parameters.push(...inner.parameters);
      else Object.assign(embed.node, { where: [], sort: [], nulls: [], limit: 100 });
      tests += embed.isShown ? inner.tests : 0;
      if (kind !== 'one' && key === `e${at}` && random.chance(0.2)) {
        const isNull = random.chance(0.5);
        node.nulls.push({ embed, isNull });
        parameters.push(
          `${prefix}${key}=${isNull ? 'is.null' : random.pick(['not.is.null', 'is.not_null'])}`,
        );
        tests++;
      }
    }
    return { node, select: texts.join(','), parameters, tests };
  }

  function makeEmbed(table: ModelTable): { embed: Embed; text: string; name: string } {
    const many = tables.flatMap((other) =>
      other.references.filter(({ to }) => to === table).map((reference) => ({ other, reference })),
    );
    const isInner = random.chance(0.2);
    const isShown = random.chance(0.93);
    const join = isInner ? '!inner' : random.pick(['', '', '!left']);
    const empty: Node = { table, items: [], where: [], sort: [], limit: 100, nulls: [] };
    if (many.length === 0 || (table.references.length > 0 && random.chance(0.5))) {
      const reference = random.pick(table.references);
      const { name } = reference.column;
      const short = name === 'region_id' && random.chance(0.5) ? 'region' : name;
      const embed: Embed = {
        kind: 'one',
        reference,
        isInner,
        isShown,
        node: { ...empty, table: reference.to },
      };
      return { embed, text: `${short}${join}`, name: short };
    }
    const { other, reference } = random.pick(many);
    const isAmbiguous = other.references.filter(({ to }) => to === table).length > 1;
    const hint = isAmbiguous || random.chance(0.3) ? `!${reference.column.name}` : '';
    const embed: Embed = { kind: 'many', reference, isInner, isShown, node: { ...empty, table: other } };
    return { embed, text: `${other.name}${hint}${join}`, name: other.name };
  }

  function rowsOf(of: View, node: Node, among: readonly ModelRow[]): ModelRow[] {
    const found = answerOf(among, node.table.id, { select: null, where: node.where, sort: node.sort });
    const inner = node.items.flatMap((item) => ('embed' in item && item.embed.isInner ? [item.embed] : []));
    return found.filter(
      (row) =>
        inner.every((embed) => related(of, embed, row).length > 0) &&
        node.nulls.every(({ embed, isNull }) => (related(of, embed, row).length === 0) === isNull),
    );
  }

  function related(of: View, { kind, reference, node }: Embed, row: ModelRow): ModelRow[] {
    const [from, to] = kind === 'one' ? [reference.column.name, 'id'] : ['id', reference.column.name];
    const value = row.get(from) ?? null;
    return rowsOf(
      of,
      node,
      of.rows(node.table).filter((other) => value !== null && other.get(to) === value),
    );
  }

  function shown(of: View, node: Node, row: ModelRow): object {
    return Object.fromEntries(
      node.items.flatMap((item): [string, unknown][] => {
        if ('column' in item)
          return [[item.key, shownValue(item.column.type, row.get(item.column.name) ?? null)]];
        const { embed, key } = item;
        if (!embed.isShown) return [];
        const rows = related(of, embed, row).slice(0, embed.node.limit);
        const values = rows.map((each) => shown(of, embed.node, each));
        return [[key, embed.kind === 'one' ? (values[0] ?? null) : values]];
      }),
    );
  }

  test('random queries with related rows give what the model gives, by page, by cursor, and counted', async () => {
    const differences: unknown[] = [];
    let [asked, embeds, walks] = [0, 0, 0];
    await repeatConcurrently(queries, 6, async () => {
      if (differences.length >= 3) return;
      const of = random.pick(views);
      const table = random.pick(tables);
      let made = makeNode(of, table, '', 0, 'top');
      while (made.tests > conditionsMax || made.parameters.length > conditionsMax)
        made = makeNode(of, table, '', 0, 'top');
      const expected = rowsOf(of, made.node, of.rows(table));
      const wanted = expected.map((row) => shown(of, made.node, row));
      asked++;
      embeds += made.select.split('(').length - 1;
      const search = [...made.parameters, `select=${encodeURIComponent(made.select)}`].join('&');
      const path = `${world.data}/${table.name}`;
      const isWalk = random.chance(0.2);
      const got: unknown[] = [];
      let cursor: string | null = null;
      do {
        const perPage = isWalk ? 3 + Math.ceil(expected.length / 5) : 200;
        const answer = await of.call(
          'GET',
          `${path}?${search}&per_page=${perPage}${cursor === null ? '' : `&cursor=${cursor}`}`,
        );
        if (answer.status !== 200) {
          differences.push({
            of: of.name,
            url: `${path}?${search}`,
            status: answer.status,
            body: answer.body,
          });
          return;
        }
        got.push(...answer.body.data);
        cursor = answer.body.next_cursor;
      } while (cursor !== null);
      if (isWalk) walks++;
      if (JSON.stringify(got) !== JSON.stringify(wanted))
        differences.push({
          of: of.name,
          url: `${path}?${search}`,
          got: JSON.stringify(got).slice(0, 1500),
          wanted: JSON.stringify(wanted).slice(0, 1500),
        });
      if (random.chance(0.3)) {
        const { body } = await of.call('GET', `${path}/_count?${search}`);
        if (body.count !== expected.length)
          differences.push({ url: `${path}/_count?${search}`, body, wanted: expected.length });
      }
    });
    console.log(
      `embeds model: ${asked} queries with ${embeds} embeds, ${walks} cursor walks; differences: ${differences.length}`,
    );
    expect(differences).toEqual([]);
    expect(asked).toBe(queries);
  });
}
