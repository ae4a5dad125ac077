import { describe, expect, test } from 'bun:test';
import { useFixture } from '../scripts/use-fixture.ts';
import { caller } from './support/people.ts';
import { rowsWorld } from './support/rows.ts';

const world = useFixture(rowsWorld);

const uuidV7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const utcTime = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z$/;
const etagForm = /^"[\w.]+"$/;

describe('one row', () => {
  test('is inserted, read, changed and deleted with the responses and headers of the contract', async () => {
    const todos = await world.table(['title:text', 'done:bool:false', 'note:text:nullable']);
    const created = await todos.send('POST', '', { title: 'Buy milk' });
    expect(created.status).toBe(201);
    expect(Object.keys(created.body)).toEqual(['id', 'title', 'done', 'note', 'created_at', 'updated_at']);
    expect(created.body).toEqual({
      id: expect.stringMatching(uuidV7),
      title: 'Buy milk',
      done: false,
      note: null,
      created_at: expect.stringMatching(utcTime),
      updated_at: created.body.created_at,
    });
    const at = `/${created.body.id}`;
    expect(created.headers.get('location')).toBe(todos.path + at);
    expect(created.headers.get('content-type')).toBe('application/json');
    expect(created.headers.get('etag')).toMatch(etagForm);

    const read = await todos.send('GET', at);
    expect([read.status, read.text]).toEqual([200, created.text]);
    expect(read.headers.get('etag')).toBe(created.headers.get('etag'));

    const changed = await todos.send('PATCH', at, { done: true });
    expect(changed.status).toBe(200);
    expect(changed.body).toEqual({
      ...created.body,
      done: true,
      updated_at: expect.stringMatching(utcTime),
    });
    expect(Date.parse(changed.body.updated_at)).toBeGreaterThanOrEqual(Date.parse(created.body.updated_at));
    expect(changed.headers.get('etag')).not.toBe(created.headers.get('etag'));
    expect((await todos.send('GET', at)).headers.get('etag')).toBe(changed.headers.get('etag'));

    const gone = await todos.send('DELETE', at);
    expect([gone.status, gone.text]).toEqual([204, '']);
    for (const method of ['DELETE', 'GET']) expect((await todos.send(method, at)).status).toBe(404);
    expect((await todos.send('PATCH', at, { done: false })).status).toBe(404);
    expect(await todos.list()).toEqual([]);
  });

  test('lists and counts have exactly the fields of the contract', async () => {
    const table = await world.table(['a:int']);
    expect((await table.send('GET')).text).toBe(
      '{"data":[],"page":1,"per_page":50,"has_more":false,"next_cursor":null}',
    );
    expect((await table.send('GET', '/_count')).text).toBe('{"count":0}');
    const [row] = await table.insert({ a: 1 });
    const list = await table.send('GET', '?per_page=200');
    expect(list.text).toBe(
      `{"data":[${JSON.stringify(row)}],"page":1,"per_page":200,"has_more":false,"next_cursor":null}`,
    );
    for (const mode of ['exact', 'capped', 'estimated']) {
      expect((await table.send('GET', `/_count?count=${mode}`)).text).toBe(`{"count":1,"mode":"${mode}"}`);
    }
    expect((await table.send('GET', '/_count?count=all')).body.code).toBe('validation_failed');
    expect((await table.send('GET', '/_count?a=gt.1')).text).toBe('{"count":0}');
  });

  test('beyond ten thousand rows a capped count stops, an estimate continues, an exact one is exact', async () => {
    const table = await world.table(['a:int']);
    for (const size of [10_000, 700]) await table.batch(Array.from({ length: size }, (_, a) => ({ a })));
    const count = async (search: string) => (await table.send('GET', `/_count?${search}`)).body;
    expect(await count('')).toEqual({ count: 10_700 });
    expect(await count('count=capped')).toEqual({ count: 10_000, mode: 'capped' });
    expect(await count('count=capped&a=lt.700')).toEqual({ count: 1_400, mode: 'capped' });
    for (const search of [
      'count=estimated',
      'count=estimated&a=gte.0',
      'count=estimated&or=(a.gt.5,a.lte.5)',
    ]) {
      const { count: expected, mode } = await count(search);
      expect([mode, expected > 10_000 && expected < 1_000_000]).toEqual(['estimated', true]);
    }
    expect(await count('count=estimated&a=lt.700')).toEqual({ count: 1_400, mode: 'estimated' });
  });

  test('return=minimal returns no body for an insert, but the URL of the row', async () => {
    const table = await world.table(['a:int']);
    const created = await table.send('POST', '', { a: 1 }, { prefer: 'return=minimal' });
    expect([created.status, created.text]).toEqual([201, '']);
    expect(created.headers.get('etag')).toMatch(etagForm);
    const read = await caller(world.server, { authorization: `Bearer ${world.owner.token}` })(
      'GET',
      created.headers.get('location') ?? '',
    );
    expect([read.status, read.body.a]).toEqual([200, 1]);
    expect(read.headers.get('etag')).toBe(created.headers.get('etag'));
  });

  test('select picks, orders and renames what is shown, of a list and of one', async () => {
    const table = await world.table(['a:int', 'b:text']);
    const [row] = await table.insert({ a: 1, b: 'x' });
    expect((await table.send('GET', `/${row.id}?select=b,howMany:a`)).text).toBe('{"b":"x","howMany":1}');
    expect((await table.send('GET', '?select=a')).text).toContain('"data":[{"a":1}]');
    for (const search of [
      '?select=a,nope',
      '?select=A',
      '?select=id,id',
      '?select=',
      '?select=__proto__:a',
    ]) {
      const answer = await table.send('GET', search);
      expect([search, answer.status]).toEqual([search, 400]);
    }
  });

  test('an export is every row as a line, in the requested order, without pages', async () => {
    const table = await world.table(['a:int']);
    await table.batch(Array.from({ length: 1203 }, (_, a) => ({ a })));
    const accept = { accept: 'application/x-ndjson' };
    const all = await table.send('GET', '?select=a&sort=-a', undefined, accept);
    expect([all.status, all.headers.get('content-type')]).toEqual([200, 'application/x-ndjson']);
    expect(all.text).toBe(Array.from({ length: 1203 }, (_, a) => `{"a":${1202 - a}}\n`).join(''));
    expect((await table.send('GET', '?a=lt.0', undefined, accept)).text).toBe('');
    for (const search of ['?page=1', '?per_page=10', '?nope=1', '?a=x']) {
      expect((await table.send('GET', search, undefined, accept)).status).toBe(400);
    }
    // A stream started for HEAD would never be read to its end.
    for (let i = 0; i < 6; i++) {
      const head = await table.send('HEAD', '', undefined, accept);
      expect([head.status, head.headers.get('content-type')]).toEqual([200, 'application/x-ndjson']);
      expect(head.headers.get('content-length')).toBeNull();
    }
    expect((await table.send('GET', '?select=a', undefined, accept)).status).toBe(200);
  });
});

describe('conditions', () => {
  test('If-None-Match answers 304 while the row is as it was, and 200 after a change', async () => {
    const table = await world.table(['a:int']);
    const created = await table.send('POST', '', { a: 1 });
    const etag = created.headers.get('etag') ?? '';
    const at = `/${created.body.id}`;
    for (const tag of [etag, `W/${etag}`, `"x", ${etag}`, '*']) {
      const same = await table.send('GET', at, undefined, { 'if-none-match': tag });
      expect([tag, same.status, same.text, same.headers.get('etag')]).toEqual([tag, 304, '', etag]);
    }
    expect((await table.send('GET', at, undefined, { 'if-none-match': '"x"' })).status).toBe(200);
    // A cached answer in another format is not reused.
    expect((await table.send('GET', `${at}?select=a`, undefined, { 'if-none-match': etag })).status).toBe(
      200,
    );
    await table.send('PATCH', at, { a: 2 });
    expect((await table.send('GET', at, undefined, { 'if-none-match': etag })).status).toBe(200);
    const gone = await table.send('GET', `/${Bun.randomUUIDv7()}`, undefined, { 'if-none-match': '*' });
    expect(gone.status).toBe(404);
  });

  test('a stale, weak or made-up If-Match is 412 and changes nothing; * takes any, absent stays 404', async () => {
    const table = await world.table(['a:int']);
    const created = await table.send('POST', '', { a: 1 });
    const at = `/${created.body.id}`;
    const old = created.headers.get('etag') ?? '';
    const second = await table.send('PATCH', at, { a: 2 }, { 'if-match': old });
    expect(second.status).toBe(200);
    const now = second.headers.get('etag') ?? '';
    for (const tag of [old, `W/${now}`, 'nonsense', '"1.1"', '""', `"${'9'.repeat(19)}.1"`]) {
      for (const method of ['PATCH', 'DELETE']) {
        const body = method === 'PATCH' ? { a: 9 } : undefined;
        const stale = await table.send(method, at, body, { 'if-match': tag });
        expect([method, tag, stale.status, stale.body.code]).toEqual([
          method,
          tag,
          412,
          'precondition_failed',
        ]);
      }
    }
    expect((await table.send('GET', at)).text).toBe(second.text);
    const gone = await table.send('DELETE', `/${Bun.randomUUIDv7()}`, undefined, { 'if-match': now });
    expect(gone.status).toBe(404);
    expect((await table.send('PATCH', at, { a: 3 }, { 'if-match': '*' })).status).toBe(200);
    const last = (await table.send('GET', at)).headers.get('etag') ?? '';
    expect((await table.send('DELETE', at, undefined, { 'if-match': `"x", ${last}` })).status).toBe(204);
  });

  test('of two writers with the same If-Match exactly one succeeds', async () => {
    const table = await world.table(['a:int']);
    for (let round = 0; round < 10; round++) {
      const created = await table.send('POST', '', { a: 0 });
      const condition = { 'if-match': created.headers.get('etag') ?? '' };
      const answers = await Promise.all(
        [1, 2, 3].map((a) => table.send('PATCH', `/${created.body.id}`, { a }, condition)),
      );
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 412, 412]);
      const won = answers.find(({ status }) => status === 200);
      expect((await table.send('GET', `/${created.body.id}`)).text).toBe(won?.text ?? '');
    }
  });

  test('an empty patch changes nothing, not even the version', async () => {
    const table = await world.table(['a:int']);
    const created = await table.send('POST', '', { a: 1 });
    const patched = await table.send('PATCH', `/${created.body.id}`, {});
    expect([patched.status, patched.text]).toEqual([200, created.text]);
    expect(patched.headers.get('etag')).toBe(created.headers.get('etag'));
  });

  test('a patch with unknown or read-only columns is refused, with their names', async () => {
    const table = await world.table(['a:int', 'owner:text'], { owner_column: 'owner' });
    const [row] = await table.insert({ a: 1 });
    for (const column of ['id', 'created_at', 'updated_at', 'owner']) {
      const answer = await table.send('PATCH', `/${row.id}`, { a: 2, [column]: row[column] });
      expect([column, answer.status, answer.body.errors]).toEqual([
        column,
        400,
        [{ column, code: 'read_only', detail: expect.any(String) }],
      ]);
    }
    for (const column of ['nope', 'A', 'v', 'xmin', '__proto__', 'constructor']) {
      const answer = await table.send('PATCH', `/${row.id}`, `{"a":2,${JSON.stringify(column)}:1}`);
      expect([column, answer.status, answer.body.code]).toEqual([column, 400, 'unknown_column']);
    }
    for (const body of ['[]', '1', 'null', '"a"', '', '{"a":1', '{"a":1}{"a":2}']) {
      expect((await table.send('PATCH', `/${row.id}`, body)).body.code).toBe('malformed_json');
    }
    expect((await table.send('GET', `/${row.id}`)).body).toEqual(row);
  });
});
