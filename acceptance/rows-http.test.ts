import { beforeAll, describe, expect, test } from 'bun:test';
import { caller } from './support/people.ts';
import { type RowsWorld, rowsWorld, type TestTable } from './support/rows.ts';
import { until } from './support/until.ts';

let world: RowsWorld;
let table: TestTable;
let at: string;
/** Calls by full path, without a credential. */
let anyone: ReturnType<typeof caller>;

beforeAll(async () => {
  world = await rowsWorld();
  table = await world.table(['a:int']);
  const [row] = await table.insert({ a: 1 });
  at = `/${row.id}`;
  anyone = caller(world.server, {});
});

const asOwner = () => ({ authorization: `Bearer ${world.owner.token}` });

test("every response has a request id, which is the client's where that is well formed", async () => {
  for (const [method, path] of [
    ['GET', ''],
    ['GET', '/_count'],
    ['GET', at],
    ['GET', '/x'],
    ['PUT', ''],
    ['POST', '?nope=1'],
  ] as const) {
    const given = await table.send(method, path, undefined, { 'x-request-id': 'my.own-id_1' });
    expect(given.headers.get('x-request-id')).toBe('my.own-id_1');
    const made = await table.send(method, path, undefined, { 'x-request-id': 'not a good one' });
    expect(made.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
    if (made.status >= 400) {
      expect(made.headers.get('content-type')).toBe('application/problem+json');
      expect(made.body.request_id).toBe(made.headers.get('x-request-id'));
      expect(made.body).toMatchObject({
        type: expect.any(String),
        title: expect.any(String),
        status: made.status,
      });
    }
  }
});

test('responses with rows forbid caching and content sniffing', async () => {
  for (const path of ['', at, '/_count']) {
    const { headers } = await table.send('GET', path);
    expect([headers.get('cache-control'), headers.get('x-content-type-options')]).toEqual([
      'no-store',
      'nosniff',
    ]);
  }
});

test('an unsupported method is 405 with the supported ones', async () => {
  const allowed: Record<string, [string[], string]> = {
    '': [['PUT'], 'GET, HEAD, POST, PATCH, DELETE'],
    '/_count': [['POST', 'PUT', 'PATCH', 'DELETE'], 'GET, HEAD'],
    [at]: [['POST', 'PUT'], 'GET, HEAD, PATCH, DELETE'],
  };
  for (const [path, [methods, allow]] of Object.entries(allowed)) {
    for (const method of methods) {
      const answer = await table.send(method, path);
      expect([method, answer.status, answer.body.code]).toEqual([method, 405, 'method_not_allowed']);
      expect(answer.headers.get('allow')).toBe(allow);
    }
  }
});

test('HEAD is like GET without the body', async () => {
  for (const path of ['', at, '/_count', '/x', '?nope=1']) {
    const [get, head] = [await table.send('GET', path), await table.send('HEAD', path)];
    expect([path, head.status, head.text]).toEqual([path, get.status, '']);
    for (const name of ['content-type', 'content-length', 'etag', 'cache-control'])
      expect([path, name, head.headers.get(name)]).toEqual([path, name, get.headers.get(name)]);
  }
  const etag = (await table.send('GET', at)).headers.get('etag') ?? '';
  expect((await table.send('HEAD', at, undefined, { 'if-none-match': etag })).status).toBe(304);
});

test('a page of another origin may call with a token, never with a cookie', async () => {
  const asked = { origin: 'https://elsewhere.example', 'access-control-request-method': 'PATCH' };
  const preflight = await anyone('OPTIONS', table.path + at, undefined, asked);
  expect(preflight.status).toBe(204);
  expect(preflight.headers.get('access-control-allow-origin')).toBe('*');
  expect(preflight.headers.get('access-control-allow-credentials')).toBeNull();
  for (const method of ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE'])
    expect(preflight.headers.get('access-control-allow-methods')).toContain(method);
  const needed = ['Authorization', 'X-Api-Key', 'Content-Type', 'Accept', 'If-Match', 'If-None-Match'];
  for (const name of [...needed, 'Idempotency-Key', 'Prefer'])
    expect(preflight.headers.get('access-control-allow-headers')).toContain(name);
  // Also on errors: otherwise a page could not read the reason.
  for (const answer of [
    await table.send('GET', at),
    await table.send('GET', '/x'),
    await anyone('GET', table.path),
  ]) {
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
    for (const name of ['ETag', 'Location', 'X-Request-Id', 'Retry-After'])
      expect(answer.headers.get('access-control-expose-headers')).toContain(name);
  }
});

test('a URL longer than 8 KiB is 414', async () => {
  expect((await table.send('GET', `?a=in.(${'1,'.repeat(900)}1)`)).status).toBe(200);
  const long = await table.send('GET', `?a=in.(${'1,'.repeat(5_000)}1)`);
  expect([long.status, long.body.code]).toEqual([414, 'uri_too_long']);
});

describe('authentication', () => {
  test('no credential, or one that is unknown or malformed, is the same 401 for any path', async () => {
    const wrong: Record<string, string>[] = [
      {},
      { authorization: 'Bearer nonsense' },
      { authorization: 'Basic eDp5' },
      { 'x-api-key': 'svcpat_nonsense' },
      { 'x-api-key': `svcpat_${'a'.repeat(36)}` },
      { 'x-api-key': world.owner.token },
    ];
    for (const credential of wrong) {
      for (const path of [table.path, table.path + at, '/data/none/none/none', '/data/x', '/data/']) {
        const answer = await caller(world.server, credential)('GET', path);
        expect([credential, path, answer.status]).toEqual([credential, path, 401]);
        expect(answer.body.code).toBe('unauthenticated');
        expect(answer.headers.get('www-authenticate')).toBe('Bearer');
      }
    }
  });

  test('two credentials at once are refused, even good ones', async () => {
    const both = caller(world.server, { ...asOwner(), 'x-api-key': await world.pat(world.owner) });
    const answer = await both('GET', table.path);
    expect([answer.status, answer.body.code]).toEqual([400, 'ambiguous_credentials']);
  });

  test('a token that was revoked is 401 within a second', async () => {
    const { tenant, owner } = world;
    const made = await owner.call('POST', `${tenant.base}/pats`, { name: 'brief', actions: ['read'] });
    const call = caller(world.server, { 'x-api-key': made.body.secret }, table.path);
    expect((await call('GET')).status).toBe(200);
    expect((await owner.call('DELETE', `${tenant.base}/pats/${made.body.id}`)).status).toBe(200);
    await until('the token is over', async () => (await call('GET')).status === 401, 1_000);
  });

  test('a token may do what its scope names: read, write, or both', async () => {
    const scoped = async (actions: string[]) =>
      world.as({ 'x-api-key': await world.pat(world.owner, { actions }) }, table);
    const [reader, writer, both] = [
      await scoped(['read']),
      await scoped(['write']),
      await scoped(['read', 'write']),
    ];
    for (const path of ['', at, '/_count']) {
      expect((await reader('GET', path)).status).toBe(200);
      expect((await both('GET', path)).status).toBe(200);
      const refused = await writer('GET', path);
      expect([refused.status, refused.body.code]).toEqual([403, 'forbidden']);
    }
    const refused = await Promise.all([
      reader('POST', '', { a: 2 }),
      reader('PATCH', at, { a: 2 }),
      reader('DELETE', at),
      reader('POST', '', '{"a":1}\n{"a":2}', { 'content-type': 'application/x-ndjson' }),
      reader('POST', '?dry_run=true', { a: 2 }),
    ]);
    for (const { status, body } of refused) expect([status, body.code]).toEqual([403, 'forbidden']);
    // A caller who may only write gets the URL of the row and none of its values.
    const created = await writer('POST', '', { a: 5 });
    expect([created.status, created.text]).toEqual([201, '']);
    expect(created.headers.get('location')).toStartWith(table.path);
    const id = `/${created.headers.get('location')?.split('/').at(-1)}`;
    const changed = await writer('PATCH', id, { a: 6 });
    expect([changed.status, changed.text]).toEqual([204, '']);
    const preview = await writer('DELETE', `${id}?dry_run=true`);
    expect([preview.status, preview.text.includes('"a"')]).toEqual([200, false]);
    expect((await both('GET', id)).body.a).toBe(6);
    expect((await writer('DELETE', id)).status).toBe(204);
  });
});

describe('paths', () => {
  test('a table is found by names and ids, and a text id may be anything but empty or dots', async () => {
    const named = await world.table(['id:text', 'a:int']);
    const { tenant, app } = world;
    const ids = [
      '_count',
      '_x',
      'a/b',
      'a%2Fb',
      'x y',
      '?',
      '#',
      '&=+',
      'ä😀',
      '%',
      '"',
      "'",
      '\\',
      '\n',
      'null',
      ':',
    ];
    for (const [a, id] of ids.entries()) {
      const created = await named.send('POST', '', { id, a });
      expect([id, created.status]).toEqual([id, 201]);
      const location = created.headers.get('location') ?? '';
      const call = caller(world.server, asOwner());
      expect([id, (await call('GET', location)).body]).toEqual([id, created.body]);
      expect((await call('PATCH', location, { a: a + 100 })).status).toBe(200);
      expect((await named.list(`?id=eq.${encodeURIComponent(id)}`)).map((row) => row.a)).toEqual([a + 100]);
    }
    expect((await named.send('GET', '/_count')).body).toEqual({ count: ids.length });
    const byIds = caller(world.server, asOwner(), `/data/${tenant.id}/${app.id}/${named.id}`);
    expect((await byIds('GET', '/_count')).body).toEqual({ count: ids.length });
    for (const id of ['', '.', '..']) expect((await named.send('POST', '', { id, a: 1 })).status).toBe(400);
  });

  test('an empty id, an invalid id and an unknown path are 404', async () => {
    const paths = [
      '/',
      '//',
      `${at}/`,
      `${at}/x`,
      '/_count/',
      '/_count/x',
      '/x',
      '/1',
      '/%00',
      '/%2F',
      '/_Count',
    ];
    for (const path of paths) {
      const answer = await table.send('GET', path);
      expect([path, answer.status, answer.body.code]).toEqual([path, 404, 'not_found']);
    }
    for (const path of [
      '',
      '/',
      '/x',
      `/${world.tenant.slug}`,
      `/${world.tenant.slug}/${world.app.slug}`,
      '///',
    ])
      expect([path, (await caller(world.server, asOwner())('GET', `/data${path}`)).status]).toEqual([
        path,
        404,
      ]);
  });

  test('an id is read in its type, so that another spelling finds the same row or none', async () => {
    expect((await table.send('GET', at.toUpperCase())).status).toBe(200);
    const numbered = await world.table(['id:int', 'a:int']);
    await numbered.insert({ a: 1 });
    expect((await numbered.send('GET', '/1')).status).toBe(200);
    for (const id of ['/01', '/1.0', '/+1', '/1e0', '/2147483648', '/x', '/true'])
      expect([id, (await numbered.send('GET', id)).status]).toEqual([id, 404]);
  });
});
