import { describe, expect, test } from 'bun:test';
import { useFixture } from '../scripts/use-fixture.ts';
import { databaseUrlOf, openServerDatabase, queryUrl } from './support/database.ts';
import { countRows, lines, ndjson, rowsWorld, type TestTable } from './support/rows.ts';

const world = useFixture(rowsWorld);

const merge = { ...ndjson, prefer: 'resolution=merge-duplicates' };
const ignore = { ...ndjson, prefer: 'resolution=ignore-duplicates' };

async function keyed(
  columns = ['k:text:nullable', 'a:int:nullable:1', 'b:int:nullable:2'],
): Promise<TestTable> {
  const table = await world.table(columns);
  const made = await table.shape('POST', '/indexes', { columns: ['k'], unique: true });
  expect(made.status).toBe(201);
  return table;
}

describe('an upsert', () => {
  test('updates the given columns of existing rows and inserts the other rows', async () => {
    const table = await keyed();
    const [there] = await table.insert({ k: 'x', a: 10, b: 20 });
    const answer = await table.send(
      'POST',
      '?on_conflict=k',
      lines([
        { k: 'x', a: 11 },
        { k: 'y', b: 5 },
      ]),
      merge,
    );
    expect([answer.status, answer.body]).toEqual([
      201,
      { inserted: 1, updated: 1, ids: [there.id, expect.any(String)] },
    ]);
    const rows = await table.list('?select=k,a,b&sort=k');
    expect(rows).toEqual([
      { k: 'x', a: 11, b: 20 },
      { k: 'y', a: 1, b: 5 },
    ]);
    const after = await table.send('GET', `/${there.id}`);
    expect(after.body.created_at).toBe(there.created_at);
    expect(Date.parse(after.body.updated_at)).toBeGreaterThanOrEqual(Date.parse(there.updated_at));
  });

  test('changes in each row only the columns of its line', async () => {
    const table = await keyed();
    await table.insert({ k: 'x', a: 10, b: 20 }, { k: 'y', a: 10, b: 20 }, { k: 'z', a: 10, b: 20 });
    const body = lines([{ k: 'x', a: 0 }, { k: 'y', b: 0 }, { k: 'z' }, { k: 'new' }]);
    const answer = await table.send('POST', '?on_conflict=k', body, merge);
    expect([answer.body.inserted, answer.body.updated]).toEqual([1, 3]);
    const shown = await Promise.all(
      answer.body.ids.map((id: string) => table.send('GET', `/${id}?select=k,a,b`)),
    );
    expect(shown.map(({ body }) => body)).toEqual([
      { k: 'x', a: 0, b: 20 },
      { k: 'y', a: 10, b: 0 },
      { k: 'z', a: 10, b: 20 },
      { k: 'new', a: 1, b: 2 },
    ]);
  });

  test('with ignore leaves existing rows unchanged and returns the new ones', async () => {
    const table = await keyed();
    await table.insert({ k: 'x', a: 10 });
    const body = lines([
      { k: 'x', a: 11 },
      { k: 'y', a: 12 },
    ]);
    const answer = await table.send('POST', '?on_conflict=k', body, ignore);
    expect([answer.status, answer.body]).toEqual([
      201,
      { inserted: 1, updated: 0, ids: [expect.any(String)] },
    ]);
    expect(await table.list('?select=k,a&sort=k')).toEqual([
      { k: 'x', a: 10 },
      { k: 'y', a: 12 },
    ]);
  });

  test('changes the version of merged rows, so that an old If-Match is stale', async () => {
    const table = await keyed();
    const created = await table.send('POST', '', { k: 'x', a: 1 });
    await table.send('POST', '?on_conflict=k', { k: 'x', a: 2 }, merge);
    const stale = await table.send(
      'PATCH',
      `/${created.body.id}`,
      { a: 3 },
      {
        'if-match': created.headers.get('etag') ?? '',
      },
    );
    expect(stale.status).toBe(412);
  });

  test('with the same key twice is refused with the line of the second, in any spelling', async () => {
    const table = await keyed();
    for (const headers of [merge, ignore]) {
      const body = `\n${lines([{ k: 'x' }, { k: 'y' }, { k: 'x', a: 1 }, { k: null }, { k: null }])}`;
      const twice = await table.send('POST', '?on_conflict=k', body, headers);
      expect([twice.status, twice.body.errors]).toMatchObject([
        400,
        [{ line: 4, column: 'k', code: 'duplicate_in_batch' }],
      ]);
    }
    expect(await countRows(table)).toBe(0);
    const times = await keyed(['k:timestamptz']);
    const spelt = lines([{ k: '2026-01-01T00:00:00Z' }, { k: '2026-01-01T09:00:00+09:00' }]);
    const twice = await times.send('POST', '?on_conflict=k', spelt, merge);
    expect([twice.status, twice.body.errors]).toMatchObject([400, [{ code: 'duplicate_in_batch' }]]);
    expect(await countRows(times)).toBe(0);
  });

  test('uses the id as its key by default, and accepts one object as well as lines', async () => {
    const table = await world.table(['id:text', 'a:int']);
    const prefer = { prefer: 'return=minimal, resolution=merge-duplicates' };
    for (const [a, status] of [
      [1, 201],
      [2, 204],
    ] as const) {
      const answer = await table.send('POST', '', `{\n  "id": "x",\n  "a": ${a}\n}\n`, prefer);
      expect([answer.status, answer.text]).toEqual([status, '']);
      expect(answer.headers.get('location')).toBe(`${table.path}/x`);
    }
    expect((await table.send('GET', '/x')).body.a).toBe(2);
    expect((await table.send('POST', '', '{"id":"x\ny","a":1}', prefer)).status).toBe(400);
    const line = await table.send('POST', '', '{"id":"x","a":3}', merge);
    expect([line.status, line.body]).toEqual([201, { inserted: 0, updated: 1, ids: ['x'] }]);
  });

  test('accepts several columns where one constraint covers exactly these', async () => {
    const table = await world.table(['a:int', 'b:int', 'c:int']);
    await table.shape('POST', '/indexes', { columns: ['a', 'b'], unique: true });
    for (const c of [1, 2]) {
      expect((await table.send('POST', '?on_conflict=b,a', { a: 1, b: 1, c }, merge)).status).toBe(201);
    }
    expect((await table.list()).map(({ c }) => c)).toEqual([2]);
    for (const on of ['a', 'c', 'a,b,c', 'nope', '', 'a;b']) {
      expect([
        on,
        (await table.send('POST', `?on_conflict=${on}`, { a: 1, b: 1, c: 1 }, merge)).status,
      ]).toEqual([on, 400]);
    }
    const incomplete = await table.send('POST', '?on_conflict=a,b', { a: 1, b: 1, c: 1 });
    expect([incomplete.status, incomplete.body.code]).toEqual([400, 'validation_failed']);
  });

  test('fails on another constraint as an insert does', async () => {
    const table = await keyed();
    await table.shape('POST', '/indexes', { columns: ['a'], unique: true });
    await table.insert({ k: 'x', a: 10 });
    const answer = await table.send(
      'POST',
      '?on_conflict=k',
      lines([
        { k: 'y', a: 5 },
        { k: 'z', a: 10 },
      ]),
      merge,
    );
    expect([answer.status, answer.body.code]).toEqual([409, 'unique_violation']);
    expect(answer.body.errors).toMatchObject([{ column: 'a' }]);
    expect(await countRows(table)).toBe(1);
  });
});

describe('an upsert of one object', () => {
  const json = (resolution: string) => ({ prefer: `resolution=${resolution}-duplicates` });

  test('returns the row as a plain insert does: 201 for a new row, 200 for an existing one', async () => {
    const table = await keyed();
    const made = await table.send('POST', '?on_conflict=k', { k: 'x', a: 5 }, json('merge'));
    expect([made.status, made.body]).toMatchObject([201, { k: 'x', a: 5, b: 2 }]);
    const merged = await table.send('POST', '?on_conflict=k', { k: 'x', b: 6 }, json('merge'));
    expect([merged.status, merged.body]).toMatchObject([200, { id: made.body.id, k: 'x', a: 5, b: 6 }]);
    expect(merged.headers.get('etag')).not.toBe(made.headers.get('etag'));
    const ignored = await table.send('POST', '?on_conflict=k', { k: 'x', b: 7 }, json('ignore'));
    expect([ignored.status, ignored.text]).toEqual([200, merged.text]);
    for (const { headers } of [made, merged, ignored])
      expect(headers.get('location')).toBe(`${table.path}/${made.body.id}`);
    const now = await table.send('GET', `/${made.body.id}`);
    for (const { text, headers } of [merged, ignored])
      expect([text, headers.get('etag')]).toEqual([now.text, now.headers.get('etag')]);
    const none = await table.send('POST', '?on_conflict=k', { k: null }, json('ignore'));
    expect([none.status, none.body.k]).toEqual([201, null]);
  });

  test('continues numbered ids and returns every digit of them', async () => {
    const table = await world.table(['id:bigint', 'a:int']);
    const big = '9007199254740993';
    const given = await table.send('POST', '', `{"id":"${big}","a":1}`, json('merge'));
    expect([given.status, given.body.id, given.headers.get('location')]).toEqual([
      201,
      big,
      `${table.path}/${big}`,
    ]);
    const ignored = await table.send('POST', '', `{"id":"${big}","a":2}`, json('ignore'));
    expect([ignored.status, ignored.body, ignored.headers.get('location')]).toEqual([
      200,
      given.body,
      `${table.path}/${big}`,
    ]);
    const next = await table.send('POST', '', { a: 3 }, json('merge'));
    expect([next.status, BigInt(next.body.id) > BigInt(big)]).toEqual([201, true]);
  });

  test('is refused as a plain insert is, without a line', async () => {
    const table = await keyed();
    await table.shape('POST', '/indexes', { columns: ['a'], unique: true });
    await table.insert({ k: 'x', a: 10 });
    for (const [body, status, column] of [
      [{ k: 'y', a: 10 }, 409, 'a'],
      [{ k: 'y', a: 'no' }, 400, 'a'],
      [{ k: 'y', nope: 1 }, 400, 'nope'],
    ] as const) {
      const answer = await table.send('POST', '?on_conflict=k', body, json('merge'));
      expect([answer.status, answer.body.errors]).toMatchObject([status, [{ column }]]);
      expect(answer.body.errors[0]).not.toHaveProperty('line');
    }
    expect(await countRows(table)).toBe(1);
  });

  test('does not count as a batch', async () => {
    const own = await rowsWorld(world.server);
    const table = await own.table(['id:text', 'a:int']);
    for (const a of [1, 2]) await table.insert({ id: `x${a}`, a });
    expect((await table.send('POST', '', { id: 'x1', a: 3 }, json('merge'))).status).toBe(200);
    const counted = () =>
      queryUrl(
        process.env.SVC_TEST_CITUS_URL ?? databaseUrlOf(world.server),
        `select cardinality(times) as n from svc_data.batch_times where app_id = '${own.app.id}'`,
      );
    expect(await counted()).toEqual([]);
    await table.send('POST', '', '{"id":"x1","a":4}', merge);
    expect(await counted()).toEqual([{ n: 1 }]);
  });

  test('is replayed by its key, and a preview changes nothing', async () => {
    const table = await keyed();
    const [there] = await table.insert({ k: 'x', a: 1 });
    const preview = await table.send('POST', '?on_conflict=k&dry_run=true', { k: 'x', a: 2 }, json('merge'));
    expect([preview.status, preview.body.dry_run]).toEqual([200, true]);
    expect((await table.send('GET', `/${there.id}`)).body).toEqual(there);
    const headers = { ...json('merge'), 'idempotency-key': crypto.randomUUID() };
    const first = await table.send('POST', '?on_conflict=k', { k: 'x', a: 2 }, headers);
    const again = await table.send('POST', '?on_conflict=k', { k: 'x', a: 2 }, headers);
    expect([again.status, again.text, again.headers.get('etag')]).toEqual([
      200,
      first.text,
      first.headers.get('etag'),
    ]);
    const planned = { ...json('merge'), 'if-plan': preview.body.plan.fingerprint };
    expect((await table.send('POST', '?on_conflict=k', { k: 'x', a: 2 }, planned)).status).toBe(200);
    await table.send('DELETE', `/${there.id}`);
    const stale = await table.send('POST', '?on_conflict=k', { k: 'x', a: 2 }, planned);
    expect([stale.status, stale.body.code]).toEqual([409, 'plan_stale']);
  });

  test("returns what the caller may read: nothing of another person's row, not even its URL", async () => {
    const table = await world.table(['k:text', 'a:int:nullable', 'by:text'], { owner_column: 'by' });
    await table.shape('POST', '/indexes', { columns: ['k'], unique: true });
    const [foreign] = await table.insert({ k: 'x', a: 1 });
    const person = world.tenant.admin;
    const send = world.as({ authorization: `Bearer ${person.token}` }, table);
    const grantTo = (actions: string[]) =>
      table.shape('POST', '/grants', { principal_type: 'user', principal_id: person.id, actions });
    const hidden = async (resolution: string, body: object) => {
      const { status, text, headers } = await send('POST', '?on_conflict=k', body, json(resolution));
      return [status, text, headers.get('location'), headers.get('etag')];
    };
    const writes = await grantTo(['write']);
    const made = await send('POST', '?on_conflict=k', { k: 'mine' }, json('merge'));
    expect([made.status, made.text, made.headers.has('location')]).toEqual([201, '', true]);
    for (const resolution of ['merge', 'ignore'])
      expect(await hidden(resolution, { k: 'mine', a: 2 })).toEqual([204, '', null, null]);
    await table.shape('DELETE', `/grants/${writes.body.id}`);
    await grantTo(['read', 'write']);
    expect(await hidden('ignore', { k: 'x', a: 9 })).toEqual([204, '', null, null]);
    const refused = await send('POST', '?on_conflict=k', { k: 'x', a: 9 }, json('merge'));
    expect([refused.status, refused.body.errors]).toMatchObject([409, [{ column: 'k' }]]);
    expect(refused.text).not.toContain(foreign.id);
    const mine = await send('POST', '?on_conflict=k', { k: 'mine', a: 3 }, json('merge'));
    expect([mine.status, mine.body]).toMatchObject([200, { k: 'mine', a: 3, by: person.id }]);
    expect((await table.send('GET', `/${foreign.id}`)).body).toEqual(foreign);
  });
});

describe('dry_run', () => {
  test('of every write shows what would change and changes nothing at all', async () => {
    const table = await keyed(['k:text', 'a:int:nullable']);
    const created = await table.send('POST', '', { k: 'x', a: 1 });
    const at = `/${created.body.id}`;
    const database = openServerDatabase(world.server);
    const state = async () => {
      const { 'svc_data.batch_times': _, sequences: __, ...rest } = await database.state();
      // Sites of earlier tests may be purged meanwhile.
      return Object.fromEntries(Object.entries(rest).filter(([name]) => !name.startsWith('svc.static_')));
    };
    const before = await state();
    const previews = await Promise.all([
      table.send('POST', '?dry_run=true', { k: 'y' }, { 'idempotency-key': crypto.randomUUID() }),
      table.send('POST', '?dry_run=true', lines([{ k: 'y' }, { k: 'z' }]), ndjson),
      table.send('POST', '?dry_run=true&on_conflict=k', lines([{ k: 'x', a: 9 }]), merge),
      table.send('PATCH', `${at}?dry_run=true`, { a: 2 }),
      table.send('DELETE', `${at}?dry_run=true`),
    ]);
    for (const { status, body } of previews) {
      expect([status, body.dry_run, typeof body.plan.fingerprint]).toEqual([200, true, 'string']);
    }
    expect(await state()).toEqual(before);
    await database.close();
    const again = await table.send('PATCH', `${at}?dry_run=true`, { a: 2 });
    expect(again.text).toBe(previews[3]?.text ?? '');
    expect(previews[3]?.body.plan.changes).toMatchObject([
      { path: expect.stringContaining('a'), before: 1, after: 2 },
    ]);
    expect(previews[4]?.body.plan.irreversible).toBe(true);
    expect((await table.send('GET', at)).text).toBe(created.text);
  });

  test('refuses what the write would refuse', async () => {
    const table = await keyed(['k:text', 'a:int:nullable']);
    await table.insert({ k: 'x' });
    expect((await table.send('POST', '?dry_run=true', { k: 'x' })).status).toBe(409);
    expect((await table.send('POST', '?dry_run=true', { k: 1 })).status).toBe(400);
    expect((await table.send('DELETE', `/${Bun.randomUUIDv7()}?dry_run=true`)).status).toBe(404);
    expect((await table.send('POST', '?dry_run=maybe', { k: 'y' })).status).toBe(400);
    expect(await countRows(table)).toBe(1);
  });
});
