import { describe, expect, test } from 'bun:test';
import { useFixture } from '../scripts/use-fixture.ts';
import { bearer } from './support/people.ts';
import { rowsWorld, type TestTable } from './support/rows.ts';
import { until } from './support/until.ts';

const world = useFixture(rowsWorld);

interface Page {
  data: { id: string; [column: string]: unknown }[];
  page: number;
  per_page: number;
  has_more: boolean;
  next_cursor: string | null;
}

/** Every page by its cursor, each checked against its own counts and links. */
async function walk(table: TestTable, search: string, perPage: number): Promise<Page['data']> {
  const rows: Page['data'] = [];
  let cursor: string | null = null;
  do {
    const next: string = cursor === null ? '' : `&cursor=${cursor}`;
    const answer = await table.send('GET', `?per_page=${perPage}&${search}${next}`);
    expect([search, answer.status]).toEqual([search, 200]);
    const page: Page = answer.body;
    expect(page.has_more).toBe(page.next_cursor !== null);
    expect(page.has_more ? page.data.length : perPage).toBe(perPage);
    rows.push(...page.data);
    cursor = page.next_cursor;
    if (rows.length > 1_000) throw new Error('The pages have no end.');
  } while (cursor !== null);
  return rows;
}

describe('pages', () => {
  test('page and per_page are whole numbers within bounds, else 400', async () => {
    const table = await world.table(['a:int']);
    await table.batch([1, 2, 3].map((a) => ({ a })));
    const wrong = [
      'page=0',
      'page=-1',
      'page=1.5',
      'page=abc',
      'page=',
      'page=01',
      'page=1e9',
      'page=1000000001',
    ];
    wrong.push('per_page=0', 'per_page=201', 'per_page=abc', 'per_page=-1', 'per_page=', 'page=1&page=2');
    for (const search of wrong) {
      for (const path of ['', '/_count']) {
        const answer = await table.send('GET', `${path}?${search}`);
        expect([search, answer.status, answer.body.code]).toEqual([search, 400, 'validation_failed']);
      }
    }
    const far = await table.send('GET', '?page=1000000000&per_page=200');
    expect([far.status, far.body]).toEqual([
      200,
      { data: [], page: 1_000_000_000, per_page: 200, has_more: false, next_cursor: null },
    ]);
    expect((await table.send('GET', '?per_page=1')).body).toMatchObject({ has_more: true });
    expect((await table.send('GET', '?per_page=3')).body).toMatchObject({
      has_more: false,
      next_cursor: null,
    });
  });

  test('by number are consecutive, and ties in the sort key neither repeat nor lose a row', async () => {
    const table = await world.table(['a:int']);
    const { body } = await table.batch(Array.from({ length: 30 }, (_, at) => ({ a: at % 2 })));
    for (const sort of ['a', '-a', 'id', '-id', 'a,-id']) {
      const seen = [];
      for (let page = 1; page <= 5; page++) {
        const answer = await table.send('GET', `?sort=${sort}&per_page=7&page=${page}`);
        expect(answer.body).toMatchObject({ page, has_more: page < 5 });
        seen.push(...answer.body.data);
      }
      expect(new Set(seen.map(({ id }) => id))).toEqual(new Set(body.ids));
      expect(seen).toHaveLength(30);
      expect(seen).toEqual(await walk(table, `sort=${sort}`, 7));
    }
  });

  test('a page number given with a cursor, a sort key twice, and more than eight are refused', async () => {
    const table = await world.table(Array.from({ length: 9 }, (_, at) => `c${at}:int:nullable`));
    await table.insert({}, {});
    const { next_cursor } = (await table.send('GET', '?per_page=1')).body;
    expect((await table.send('GET', `?per_page=1&cursor=${next_cursor}&page=2`)).status).toBe(400);
    expect((await table.send('GET', '?sort=c0,-c0')).status).toBe(400);
    const keys = Array.from({ length: 9 }, (_, at) => `c${at}`);
    expect((await table.send('GET', `?sort=${keys.join(',')}`)).status).toBe(400);
    expect(await walk(table, `sort=${keys.slice(1).join(',-')}`, 1)).toHaveLength(2);
  });
});

describe('cursors', () => {
  test('walk through columns of every type, in both directions, nulls last going up and first going down', async () => {
    const values: Record<string, unknown[]> = {
      text: ['', 'a', 'B', 'ä', 'z"\\', "'"],
      int: [-5, 0, 9, 10, 2147483647],
      bigint: [-1, '9007199254740993', '9223372036854775807', 7, '-9223372036854775808'],
      float: [0, -1.5, 1e300, 5e-324, 0.1],
      bool: [true, false],
      timestamptz: ['2026-01-01T00:00:00Z', '2026-01-01T00:00:00.000001Z', '0001-01-01T00:00:00Z'],
      uuid: [Bun.randomUUIDv7(), crypto.randomUUID(), '00000000-0000-0000-0000-000000000000'],
      jsonb: [1, 'a', { a: [1, null] }, [2], true, 10, 9],
    };
    await Promise.all(
      Object.entries(values).map(async ([type, given]) => {
        const table = await world.table([`x:${type}:nullable`]);
        // Each value three times, so that pages end within ties; among them rows with none.
        const rows = [...given, null, ...given, null, ...given];
        await table.batch(rows.map((x) => ({ x })));
        for (const sort of ['x', '-x', 'x,-id', '-x,id']) {
          const whole = await table.list(`?sort=${sort}&per_page=200`);
          expect(whole).toHaveLength(rows.length);
          const nulls = whole.map(({ x }) => x === null);
          expect(sort.startsWith('-') ? nulls.slice(0, 2) : nulls.slice(-2)).toEqual([true, true]);
          for (const perPage of [1, 2, 4]) {
            expect([type, sort, await walk(table, `sort=${sort}`, perPage)]).toEqual([type, sort, whole]);
          }
        }
      }),
    );
  });

  test('work with unselected sort keys, with filters and with several keys', async () => {
    const table = await world.table(['a:int:nullable', 'b:text']);
    const rows = Array.from({ length: 40 }, (_, at) => ({
      a: at % 4 === 0 ? null : at % 3,
      b: `b${at % 5}`,
    }));
    await table.batch(rows);
    for (const search of [
      'sort=a,-b',
      'sort=-b,a&b=neq.b0',
      'select=b&sort=-a,b',
      'sort=b&or=(a.is.null,a.gt.0)',
    ]) {
      const whole = await table.list(`?${search}&per_page=200`);
      expect(await walk(table, search, 3)).toEqual(whole);
    }
  });

  test('rows inserted or deleted between pages shift nothing', async () => {
    const table = await world.table(['id:int', 'a:int']);
    await table.batch([10, 20, 30, 40, 50].map((id) => ({ id, a: 1 })));
    const first = (await table.send('GET', '?per_page=2')).body;
    expect(first.data.map(({ id }: { id: number }) => id)).toEqual([10, 20]);
    await table.batch([5, 15, 25].map((id) => ({ id, a: 1 })));
    await table.send('DELETE', '/20');
    await table.send('DELETE', '/30');
    const second = (await table.send('GET', `?per_page=2&cursor=${first.next_cursor}`)).body;
    expect(second.data.map(({ id }: { id: number }) => id)).toEqual([25, 40]);
  });

  test('of another table, another sort, or tampered with are refused', async () => {
    const table = await world.table(['a:int', 'b:int']);
    const other = await world.table(['a:int', 'b:int']);
    for (const each of [table, other]) await each.batch([1, 2, 3].map((a) => ({ a, b: a })));
    const cursor: string = (await table.send('GET', '?sort=a&per_page=1')).body.next_cursor;
    const good = await table.send('GET', `?sort=a&per_page=1&cursor=${cursor}`);
    expect(good.body.data).toMatchObject([{ a: 2 }]);
    const refused = async (send: TestTable['send'], search: string) => {
      const answer = await send('GET', search);
      expect([search, answer.status, answer.body.code]).toEqual([search, 400, 'invalid_cursor']);
    };
    await refused(other.send, `?sort=a&cursor=${cursor}`);
    for (const sort of ['', '&sort=-a', '&sort=b', '&sort=a,b', '&sort=id', '&sort=a,-id'])
      await refused(table.send, `?cursor=${cursor}${sort}`);
    const [payload = '', signature = ''] = cursor.split('.');
    const forged = Buffer.from(payload, 'base64url').toString().replace(/"1"/, '"3"');
    const made = Buffer.from(forged).toString('base64url');
    const tampered = [
      `${made}.${signature}`,
      `${payload}.${signature.slice(0, -1)}`,
      payload,
      `.${signature}`,
    ];
    tampered.push(`${payload}.`, `${cursor}.x`, 'x', '%20', 'null', '2', `${payload}.${'A'.repeat(22)}`);
    for (const text of tampered) await refused(table.send, `?sort=a&cursor=${text}`);
    for (let at = 0; at < cursor.length - 1; at++) {
      const letter = cursor[at] === 'A' ? 'B' : 'A';
      if (cursor[at] === '.') continue;
      await refused(table.send, `?sort=a&cursor=${cursor.slice(0, at)}${letter}${cursor.slice(at + 1)}`);
    }
    expect((await table.send('GET', '?cursor=')).status).toBe(400);
  });

  test('survive a rename, but not the drop of their sort column', async () => {
    const table = await world.table(['a:int', 'b:int:nullable']);
    await table.batch([1, 2, 3].map((a) => ({ a })));
    const cursor: string = (await table.send('GET', '?sort=a&per_page=1')).body.next_cursor;
    expect((await table.shape('PATCH', '/columns/a', { name: 'renamed' })).status).toBe(200);
    const next = await until('the new name is known', async () => {
      const answer = await table.send('GET', `?sort=renamed&per_page=1&cursor=${cursor}`);
      return answer.status === 200 && answer;
    });
    expect(next.body.data).toMatchObject([{ renamed: 2 }]);
    expect((await table.shape('DELETE', '/columns/renamed')).status).toBe(204);
    expect((await table.shape('POST', '/columns', '"renamed:int:nullable"')).status).toBe(201);
    await until('the cursor is refused', async () => {
      const answer = await table.send('GET', `?sort=renamed&cursor=${cursor}`);
      return answer.body.code === 'invalid_cursor';
    });
  });

  test("of another person return only the caller's own rows", async () => {
    const table = await world.table(['a:int', 'owner:text'], { owner_column: 'owner' });
    const grant = { principal_type: 'user', principal_id: world.tenant.admin.id, actions: ['read', 'write'] };
    expect((await table.shape('POST', '/grants', grant)).status).toBe(201);
    const admin = world.as(bearer(world.tenant.admin), table);
    await table.batch([1, 2, 3].map((a) => ({ a })));
    await admin('POST', '', { a: 4 });
    const { next_cursor } = (await table.send('GET', '?sort=a&per_page=1')).body;
    const theirs = await admin('GET', `?sort=a&cursor=${next_cursor}`);
    expect(theirs.body.data.map(({ a }: { a: number }) => a)).toEqual([4]);
  });
});
