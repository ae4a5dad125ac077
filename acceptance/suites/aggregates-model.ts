import { beforeAll, expect, test } from 'bun:test';
import { setApp } from '../support/database.ts';
import { bearer, type Call, done, newMember, tokenThrough } from '../support/people.ts';
import { newRandom } from '../support/random.ts';
import { insertLines, type RowsWorld, rowsWorld, type TestTable } from '../support/rows.ts';
import { repeatConcurrently } from '../support/until.ts';
import {
  compareNullable,
  groupsOf,
  type HavingTest,
  type ModelGroup,
  type ModelItem,
  parts,
  startOf,
  zones,
} from './aggregate-model.ts';
import { makeQuery } from './random-queries.ts';
import { jsonText, shownValue, type Value } from './random-values.ts';
import { answerOf, type ModelColumn, type ModelRow } from './row-model.ts';

/** Random groupings and distinct lists of people with different rights, compared with a model in memory. */
export function aggregatesModel({ requests, rows: rowsCount }: { requests: number; rows: number }): void {
  const random = newRandom();
  const column = (name: string, type: ModelColumn['type'], nullable = true): ModelColumn => ({
    name,
    type,
    nullable,
  });
  const id = column('id', 'int', false);
  const owner = column('by', 'uuid', false);
  const plain = [
    column('region', 'text'),
    column('kind', 'int'),
    column('big', 'bigint'),
    column('score', 'float'),
    column('flag', 'bool'),
    column('at', 'timestamptz'),
    column('ref', 'uuid'),
  ];
  const columns = [id, owner, ...plain];

  interface Principal {
    name: string;
    send: Call;
    rows: ModelRow[];
    columns: ModelColumn[];
  }

  let world: RowsWorld;
  let table: TestTable;
  const principals: Principal[] = [];

  const uuids = ['a', 'b', 'c'].map((digit) => `0190a0a0-0000-7000-8000-00000000000${digit}`);
  /** Around changes of the clock, ends of months and of years. */
  const moments = [
    '2026-03-29T00:59:59Z',
    '2025-10-26T00:30:00Z',
    '2025-11-02T05:45:00Z',
    '2026-04-04T14:40:00Z',
    '2025-12-31T22:30:00Z',
    '2024-02-29T18:20:00Z',
    '1999-06-30T12:00:00Z',
  ].map((text) => BigInt(Date.parse(text)) * 1000n);
  const make: Record<string, () => Value> = {
    region: () => random.pick(['eu', 'EU', 'us', '', ' eu', 'é', 'a,"b"', 'not.eq.x', 'x'.repeat(60)]),
    kind: () => random.pick([-2147483648, -1, 0, 1, 2, 2147483647]),
    big: () => random.pick([-(2n ** 63n), 2n ** 63n - 1n, 2n ** 53n + 1n, 0n, 7n, -7n]),
    // Multiples of a quarter: their sums have no rounding.
    score: () => (random.below(4000) - 2000) / 4 || 0,
    flag: () => random.chance(0.5),
    at: () => random.pick(moments) + BigInt(random.below(8) * 900 * 1_000_000 + random.pick([0, 1, 999_999])),
    ref: () => random.pick(uuids),
  };

  beforeAll(async () => {
    world = await rowsWorld();
    const { tenant, owner: creator, server, app } = world;
    await setApp(server, app.id, { visibility: 'invite_only' });
    const [ada, ben] = await Promise.all([newMember(tenant), newMember(tenant)]);
    for (const { id: user_id } of [ada, ben])
      await done(creator.call('POST', `${tenant.base}/apps/${app.id}/members`, { user_id }));
    const spec = columns.map(({ name, type, nullable }) => `${name}:${type}${nullable ? ':nullable' : ''}`);
    table = await world.table(spec, { owner_column: 'by' });
    const access = {
      read: ['own', 'kind=gt.0&region=neq.us'],
      columns: { big: { read: ['role:hr'] }, score: { read: ['own'] } },
    };
    await done(table.shape('PUT', '/access', access));
    const owners = [creator.id, ada.id, ben.id];
    const rows = random.times(rowsCount, (at): ModelRow => {
      const values = plain.map(
        ({ name }) => [name, random.chance(0.15) ? null : (make[name]?.() ?? null)] as const,
      );
      return new Map<string, Value | null>([['id', at], ['by', random.pick(owners)], ...values]);
    });
    await insertLines(
      creator,
      table.path,
      rows.map((row) => {
        const members = columns.map(
          ({ name, type }) => `"${name}":${jsonText(type, row.get(name) ?? null, random)}`,
        );
        return `{${members.join(',')}}`;
      }),
    );
    principals.push({ name: 'the owner of the app', send: table.send, rows, columns });
    for (const person of [ada, ben]) {
      const token = await tokenThrough(server, person, `${tenant.slug}/${app.slug}`);
      const isOwn = (row: ModelRow) => row.get('by') === person.id;
      const region = (row: ModelRow) => row.get('region') ?? null;
      const visible = rows
        .filter(
          (row) =>
            isOwn(row) || (Number(row.get('kind') ?? 0) > 0 && region(row) !== null && region(row) !== 'us'),
        )
        .map((row) => new Map([...row, ...(isOwn(row) ? [] : [['score', null] as const])]));
      const send = world.as(bearer({ token }), table);
      const seen = columns.filter(({ name }) => name !== 'big');
      principals.push({ name: 'a visitor of the app', send, rows: visible, columns: seen });
    }
    console.log(`aggregates model: seed ${random.seed}`);
  });

  const values = (name: string, rows: readonly ModelRow[]) =>
    rows.flatMap((row) => {
      const value = row.get(name) ?? null;
      return value === null ? [] : [value];
    });

  function sum({ name, type }: ModelColumn, rows: readonly ModelRow[]): Value | null {
    const all = values(name, rows);
    if (all.length === 0) return null;
    if (type === 'float') return all.reduce((a: number, b) => a + Number(b), 0);
    return all.reduce((a: bigint, b) => a + BigInt(b as number), 0n);
  }

  function makeItem(among: readonly ModelColumn[], at: number): ModelItem {
    const of = random.pick(among);
    const { name, type } = of;
    const alias = `k${at}`;
    const value = (text: string, result: ModelItem['type'], compute: ModelItem['of']): ModelItem => ({
      text,
      key: alias,
      isGroup: false,
      type: result,
      of: compute,
    });
    const extreme = (sign: 1 | -1) => (rows: readonly ModelRow[]) =>
      values(name, rows).reduce<Value | null>(
        (best, each) => (best === null || compareNullable(type, each, best) * sign > 0 ? each : best),
        null,
      );
    const isNumber = ['int', 'bigint', 'float'].includes(type);
    const kinds = ['column', 'column', 'count', 'values', 'distinct'];
    if (isNumber) kinds.push('sum', 'sum', 'avg');
    if (type !== 'bool' && type !== 'uuid') kinds.push('min', 'max');
    if (type === 'timestamptz') kinds.push('period', 'period', 'period', 'period', 'period');
    switch (random.pick(kinds)) {
      case 'column':
        return { ...value(name, type, ([row]) => row?.get(name) ?? null), isGroup: true };
      case 'period': {
        const [part, zone] = [random.pick(parts), random.pick(zones)];
        const start = ([row]: readonly ModelRow[]) => {
          const time = row?.get(name) ?? null;
          return time === null ? null : startOf(part, time as bigint, zone);
        };
        const result = part === 'hour' ? 'timestamptz' : 'date';
        return { ...value(`${name}.${part}(${zone})`, result, start), isGroup: true };
      }
      case 'sum':
        return value(`${name}.sum()`, type === 'float' ? 'float' : 'bigint', (rows) => sum(of, rows));
      case 'avg':
        return value(`${name}.avg()`, 'float', (rows) => {
          const total = sum(of, rows);
          return total === null ? null : Number(total) / values(name, rows).length;
        });
      case 'min':
        return value(`${name}.min()`, type, extreme(-1));
      case 'max':
        return value(`${name}.max()`, type, extreme(1));
      case 'values':
        return value(`${name}.count()`, 'bigint', (rows) => BigInt(values(name, rows).length));
      case 'distinct':
        return value(`${name}.count_distinct()`, 'bigint', (rows) =>
          BigInt(new Set(values(name, rows)).size),
        );
      default:
        return value('count()', 'bigint', (rows) => BigInt(rows.length));
    }
  }

  const shown = ({ type, key }: ModelItem, group: ModelGroup) => {
    const value = group.get(key) ?? null;
    return type === 'date' ? value : shownValue(type, value);
  };

  function makeHaving(items: readonly ModelItem[], groups: readonly ModelGroup[]): HavingTest {
    const item = random.pick(items);
    const negated = random.chance(0.2);
    const known = groups.length === 0 ? null : (random.pick(groups).get(item.key) ?? null);
    const isTooLarge = typeof known === 'bigint' && BigInt.asIntN(64, known) !== known;
    // A boolean has an order, but nothing of interest between its values.
    if (known === null || isTooLarge || random.chance(0.15))
      return { item, negated, value: null, op: random.pick(['is null', 'is not_null']) };
    return { item, negated, value: known, op: random.pick(['eq', 'neq', 'gt', 'gte', 'lt', 'lte']) };
  }

  function havingText({ item, op, negated, value }: HavingTest): string {
    const [word, operand] = op.startsWith('is ')
      ? ['is', op.slice(3)]
      : [op, String(item.type === 'timestamptz' ? shownValue('timestamptz', value) : value)];
    return `${item.key}.${negated ? 'not.' : ''}${word}."${operand.replace(/["\\]/g, '\\$&')}"`;
  }

  async function readAll({ send }: Principal, path: string, perPage: number, expected: number) {
    const found: unknown[] = [];
    for (let cursor = ''; ; ) {
      const { status, body } = await send('GET', `${path}&per_page=${perPage}${cursor}`);
      if (status !== 200) return { status, body };
      found.push(...body.data);
      if (body.next_cursor === null || found.length > expected) return found;
      cursor = `&cursor=${body.next_cursor}`;
    }
  }

  async function groupRequest(who: Principal): Promise<{ url: string; got: unknown; wanted: unknown }> {
    const items = random.times(random.pick([1, 2, 2, 3, 4]), (at) => makeItem(who.columns, at));
    const { where, parameters } = makeQuery(random, who.columns, who.rows);
    const filters = parameters.filter((pair) => !/^(?:sort|select)=/.test(pair));
    const rows = answerOf(who.rows, id, { where, sort: [], select: null });
    const all = groupsOf(rows, { items, having: [], sort: [] });
    const having = random.times(random.pick([0, 0, 1, 1, 2]), () => makeHaving(items, all));
    const sorted = random.some(items, random.pick([0, 1, 1, 2]));
    const sort = sorted.map((item) => ({ item, descending: random.chance(0.5) }));
    const groups = groupsOf(rows, { items, having, sort });
    const pairs = [
      ['select', items.map(({ key, text }) => `${key}:${text}`).join(',')],
      ...having.map((each) => [random.pick(['having', '_having']), havingText(each)]),
      ...(sort.length === 0
        ? []
        : [['sort', sort.map(({ item, descending }) => `${descending ? '-' : ''}${item.key}`).join(',')]]),
    ].map(([name, value]) => `${name}=${encodeURIComponent(value!)}`);
    const url = `/_aggregate?${[...pairs, ...filters].join('&')}`;
    const perPage = random.chance(0.3) ? Math.max(1, Math.ceil(groups.length / 4)) : 1_000;
    const got = await readAll(who, url, perPage, groups.length);
    const wanted = groups.map((group) =>
      Object.fromEntries(items.map((item) => [item.key, shown(item, group)])),
    );
    return { url, got, wanted };
  }

  async function distinctRequest(who: Principal): Promise<{ url: string; got: unknown; wanted: unknown }> {
    const distinct = random.some(who.columns, random.pick([1, 1, 2]));
    const { where, sort, parameters } = makeQuery(random, who.columns, who.rows);
    const filters = parameters.filter((pair) => !pair.startsWith('select='));
    const seen = new Set<string>();
    const rows = answerOf(who.rows, id, { where, sort, select: null }).filter((row) => {
      const key = JSON.stringify(
        distinct.map(({ name }) => String(row.get(name) ?? Symbol.for('null').description)),
      );
      return !seen.has(key) && seen.add(key);
    });
    const names = distinct.map(({ name }) => name).join(',');
    const url = `?select=id&${random.pick(['distinct', '_distinct'])}=${names}&${filters.join('&')}`;
    const got = await readAll(who, url, random.pick([7, 200]), rows.length);
    return { url, got, wanted: rows.map((row) => ({ id: row.get('id') })) };
  }

  test(`${requests} random requests give the groups and the distinct rows of the model`, async () => {
    const differences: object[] = [];
    let [groups, lists, hidden] = [0, 0, 0];
    await repeatConcurrently(requests, 8, async () => {
      if (differences.length >= 3) return;
      const who = random.pick(principals);
      if (who.columns.length < columns.length && random.chance(0.05)) {
        hidden++;
        const select = random.pick(['big', 'big.sum()', 'count()&big=gt.1', 'count()&sort=big']);
        const { status, body } = await who.send('GET', `/_aggregate?select=${select}`);
        if (status !== 400 || body.code !== 'unknown_column') differences.push({ select, status, body });
        return;
      }
      const isList = random.chance(0.15);
      const { url, got, wanted } = await (isList ? distinctRequest(who) : groupRequest(who));
      if (isList) lists++;
      else groups++;
      if (JSON.stringify(got) !== JSON.stringify(wanted))
        differences.push({ who: who.name, url: decodeURIComponent(url), got, wanted });
    });
    console.log(
      `aggregates model: ${groups} groupings, ${lists} distinct lists, ${hidden} hidden columns; differences: ${differences.length}`,
    );
    expect(differences).toEqual([]);
    expect(groups + lists + hidden).toBe(requests);
  });
}
