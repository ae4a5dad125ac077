import { beforeAll, expect, test } from 'bun:test';
import { setApp } from '../support/database.ts';
import { bearer, type Call, done, newMember, tokenThrough } from '../support/people.ts';
import { newRandom } from '../support/random.ts';
import { insertLines, type RowsWorld, rowsWorld, type TestTable } from '../support/rows.ts';
import { repeatConcurrently } from '../support/until.ts';
import { makeDistinctList, makeGroups } from './random-groups.ts';
import { jsonText, type Value } from './random-values.ts';
import type { ModelColumn, ModelRow } from './row-model.ts';

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
      const seen = { id, ...who };
      const { url, wanted } = isList
        ? makeDistinctList(random, seen)
        : makeGroups(random, seen, { hasFloatSums: true, hasPeriods: true });
      const fewPerPage = isList ? 7 : Math.max(1, Math.ceil(wanted.length / 4));
      const perPage = random.chance(0.3) ? fewPerPage : isList ? 200 : 1_000;
      const got = await readAll(who, url, perPage, wanted.length);
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
