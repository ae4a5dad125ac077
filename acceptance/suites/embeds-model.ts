import { beforeAll, expect, test } from 'bun:test';
import { conditionsMax } from '@svc/contract/rows.ts';
import { newRandom } from '../support/random.ts';
import { Tally } from '../support/rows.ts';
import { repeatConcurrently } from '../support/until.ts';
import { type Distinct, makeDistinct, makeDistinctList, makeGroups } from './random-groups.ts';
import { countTests, makeQuery } from './random-queries.ts';
import { toAnswerValue } from './random-values.ts';
import {
  type ModelTable,
  type Reference,
  type RelatedWorld,
  relatedWorld,
  type View,
} from './related-world.ts';
import { answerOf, type Condition, type ModelColumn, type ModelRow } from './row-model.ts';

/** What is asked: a page with its count, a walk by cursors, one row by its id, groups, or a list of distinct rows. */
export type Asked = 'page' | 'walk' | 'row' | 'groups' | 'distinct';

interface Size {
  /** Each with rules of its own. */
  worlds: number;
  /** In all. */
  queries: number;
  asks: readonly Asked[];
}

/** Random queries of callers with and without rules, with related rows and groups, against a model in memory. */
export function embedsModel({ worlds, queries, asks }: Size): void {
  const random = newRandom();

  interface Node {
    table: ModelTable;
    items: ({ key: string; column: ModelColumn } | { key: string; embed: Embed })[];
    where: Condition[];
    sort: { column: ModelColumn; descending: boolean }[];
    limit: number;
    /** `or` is a column that may be null instead. */
    nulls: { embed: Embed; isNull: boolean; or: ModelColumn | null }[];
    distinct: Distinct | null;
  }

  interface Embed {
    kind: 'one' | 'many';
    reference: Reference;
    isInner: boolean;
    isShown: boolean;
    node: Node;
  }

  const grounds: RelatedWorld[] = [];

  beforeAll(async () => {
    for (let at = 0; at < worlds; at++) grounds.push(await relatedWorld(random));
    console.log(`embeds model: seed ${random.seed}`);
  });

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
      distinct: null,
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
      const made = makeEmbed(of, table);
      if (!made) break;
      const { embed, text, name } = made;
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
        const or = random.chance(0.3) ? random.pick(own) : null;
        node.nulls.push({ embed, isNull, or });
        const text = isNull ? 'is.null' : random.pick(['not.is.null', 'is.not_null']);
        parameters.push(or ? `${prefix}or=(${key}.${text},${or.name}.is.null)` : `${prefix}${key}=${text}`);
        tests += or ? 2 : 1;
      }
    }
    if (kind === 'top' && random.chance(0.08) && node.sort.every(({ column }) => own.includes(column))) {
      node.distinct = makeDistinct(random, own);
      parameters.push(node.distinct.parameter);
    }
    return { node, select: texts.join(','), parameters, tests };
  }

  function makeEmbed(of: View, table: ModelTable): { embed: Embed; text: string; name: string } | null {
    const one = of.references(table);
    const many = of.tables.flatMap((other) =>
      of
        .references(other)
        .filter(({ to }) => to === table)
        .map((reference) => ({ other, reference })),
    );
    if (one.length + many.length === 0) return null;
    const isInner = random.chance(0.2);
    const isShown = random.chance(0.93);
    const join = isInner ? '!inner' : random.pick(['', '', '!left']);
    const empty: Node = { table, items: [], where: [], sort: [], limit: 100, nulls: [], distinct: null };
    if (many.length === 0 || (one.length > 0 && random.chance(0.5))) {
      const reference = random.pick(one);
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
    const isAmbiguous = of.references(other).filter(({ to }) => to === table).length > 1;
    const hint = isAmbiguous || random.chance(0.3) ? `!${reference.column.name}` : '';
    const embed: Embed = { kind: 'many', reference, isInner, isShown, node: { ...empty, table: other } };
    return { embed, text: `${other.name}${hint}${join}`, name: other.name };
  }

  function rowsOf(of: View, node: Node, among: readonly ModelRow[]): ModelRow[] {
    const found = answerOf(among, node.table.id, { select: null, where: node.where, sort: node.sort });
    const inner = node.items.flatMap((item) => ('embed' in item && item.embed.isInner ? [item.embed] : []));
    const left = found.filter(
      (row) =>
        inner.every((embed) => related(of, embed, row).length > 0) &&
        node.nulls.every(
          ({ embed, isNull, or }) =>
            (related(of, embed, row).length === 0) === isNull || (or && (row.get(or.name) ?? null) === null),
        ),
    );
    return node.distinct?.of(left) ?? left;
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

  function toAnswerRow(of: View, node: Node, row: ModelRow): object {
    return Object.fromEntries(
      node.items.flatMap((item): [string, unknown][] => {
        if ('column' in item)
          return [[item.key, toAnswerValue(item.column.type, row.get(item.column.name) ?? null)]];
        const { embed, key } = item;
        if (!embed.isShown) return [];
        const rows = related(of, embed, row).slice(0, embed.node.limit);
        const values = rows.map((each) => toAnswerRow(of, embed.node, each));
        return [[key, embed.kind === 'one' ? (values[0] ?? null) : values]];
      }),
    );
  }

  interface Request {
    path: string;
    wanted: object[] | object | null;
    perPage: number | null;
    count?: number;
  }

  function makeList(of: View, table: ModelTable, kind: 'page' | 'walk' | 'row'): Request {
    const make = () => makeNode(of, table, '', 0, kind === 'row' ? 'one' : 'top');
    let made = make();
    while (made.tests > conditionsMax || made.parameters.length > conditionsMax) made = make();
    embeds += made.select.split('(').length - 1;
    const search = [...made.parameters, `select=${encodeURIComponent(made.select)}`].join('&');
    const rows = of.rows(table);
    if (kind === 'row' && rows.length > 0) {
      const row = random.pick(rows);
      const [found] = rowsOf(of, made.node, [row]);
      const id = encodeURIComponent(String(toAnswerValue(table.id.type, row.get('id')!)));
      return {
        path: `/${id}?${search}`,
        wanted: found ? toAnswerRow(of, made.node, found) : null,
        perPage: null,
      };
    }
    const expected = rowsOf(of, made.node, rows);
    return {
      path: `?${search}`,
      wanted: expected.map((row) => toAnswerRow(of, made.node, row)),
      perPage: kind === 'walk' ? 3 + Math.ceil(expected.length / 5) : 200,
      count: expected.length,
    };
  }

  function makeRequest(of: View, table: ModelTable, asked: Asked): Request {
    if (asked !== 'groups' && asked !== 'distinct') return makeList(of, table, asked);
    const columns = of.columns(table).filter(({ name }) => !name.includes('.'));
    const seen = { id: table.id, columns, rows: of.rows(table) };
    const { url, wanted } =
      asked === 'groups'
        ? makeGroups(random, seen, { hasFloatSums: false, hasPeriods: false })
        : makeDistinctList(random, seen);
    const most = asked === 'groups' ? 1_000 : 200;
    return { path: url, wanted, perPage: random.chance(0.3) ? 1 + Math.ceil(wanted.length / 4) : most };
  }

  /** All pages, or the row; null where there is no such row. */
  async function answerTo(of: View, path: string, perPage: number | null): Promise<unknown> {
    if (perPage === null) {
      const { status, body } = await of.call('GET', path);
      return status === 200 ? body : status === 404 ? null : { status, body };
    }
    const got: unknown[] = [];
    for (let cursor = ''; ; ) {
      const { status, body } = await of.call('GET', `${path}&per_page=${perPage}${cursor}`);
      if (status !== 200) return { status, body };
      got.push(...body.data);
      if (body.next_cursor === null) return got;
      cursor = `&cursor=${body.next_cursor}`;
    }
  }

  let embeds = 0;
  let found = 0;

  test(`${queries} random queries (${asks.join(', ')}) give what the model gives`, async () => {
    const differences: unknown[] = [];
    const asked = new Tally();
    await repeatConcurrently(queries, 6, async () => {
      if (differences.length >= 3) return;
      const ground = random.pick(grounds);
      const of = random.pick(ground.views);
      const ask = random.pick(asks);
      asked.add(ask);
      if (of.tables.length < ground.tables.length && random.chance(0.03)) {
        const hidden = random.pick(ground.tables.filter((table) => !of.tables.includes(table)));
        const { status } = await of.call('GET', `${ground.world.data}/${hidden.name}`);
        if (status !== 404) differences.push({ of: of.name, hidden: hidden.name, status });
        return;
      }
      const table = random.pick(of.tables);
      const { path, wanted, perPage, count } = makeRequest(of, table, ask);
      const base = `${ground.world.data}/${table.name}`;
      if (Array.isArray(wanted) ? wanted.length > 0 : wanted) found++;
      const got = await answerTo(of, base + path, perPage);
      if (JSON.stringify(got) !== JSON.stringify(wanted)) {
        const texts = [got, wanted].map((each) => JSON.stringify(each).slice(0, 1500));
        const said = `${of.name}; ${ground.described}`;
        differences.push({ said, url: base + path, got: texts[0], wanted: texts[1] });
      }
      if (count !== undefined && random.chance(0.3)) {
        const { body } = await of.call('GET', `${base}/_count${path}`);
        if (body.count !== count)
          differences.push({ of: of.name, url: `${base}/_count${path}`, body, count });
      }
    });
    console.log(
      `embeds model: ${asked}; ${embeds} embeds; ${found} found rows; ${worlds} worlds, ${worlds * grounds[0]!.views.length} people; differences: ${differences.length}`,
    );
    expect(differences).toEqual([]);
    // The questions were good ones.
    expect(found).toBeGreaterThan(queries / 3);
  });
}
