import { expect, test } from 'bun:test';
import { createClient } from './client.ts';
import { SvcBatchError, SvcError, SvcNetworkError } from './errors.ts';
import { emptyPage, problem, scriptedServer } from './testing.ts';

const server = scriptedServer();
const options = { baseUrl: server.baseUrl, tenant: 'acme', app: 'todo', auth: { apiKey: 'k' } };
const todos = createClient(options).table('todos');

const caught = (attempt: Promise<unknown>) =>
  attempt.then(
    () => null,
    (error: unknown) => error,
  );
async function codeOf(attempt: Promise<unknown>): Promise<string> {
  const error = await caught(attempt);
  return error instanceof SvcError ? error.code : String(error);
}

test('rows are encoded without loss: bigints, dates, undefined, NaN and Infinity', async () => {
  server.answerWith(() => Response.json({ id: '1' }, { status: 201, headers: { etag: '"1.1"' } }));
  const when = new Date(0);
  const row = {
    big: 2n ** 63n - 1n,
    list: [1n, undefined, { a: 1.5 }],
    when,
    none: null,
    left: undefined,
    'a"b': 'x',
  };
  expect(await todos.insert(row)).toEqual({ row: { id: '1' }, etag: '"1.1"' });
  expect(server.seen[0]!.body).toBe(
    '{"big":9223372036854775807,"list":[1,null,{"a":1.5}],"when":"1970-01-01T00:00:00.000Z","none":null,"a\\"b":"x"}',
  );
  expect(server.seen[0]!.headers.get('content-type')).toBe('application/json');
  expect(await caught(todos.insert({ n: Number.NaN }))).toBeInstanceOf(TypeError);
});

test('an insert without returned rows gets the id; a dry run gets the plan', async () => {
  const location = '/data/acme/todo/todos/%5Fa%2Fb';
  server.answerWith(() => new Response(null, { status: 201, headers: { location, etag: '"1.1"' } }));
  expect(await todos.insert({}, { returning: 'minimal', idempotencyKey: 'k1' })).toEqual({
    id: '_a/b',
    etag: '"1.1"',
  });
  const { headers } = server.seen[0]!;
  expect([headers.get('prefer'), headers.get('idempotency-key')]).toEqual(['return=minimal', 'k1']);
  const plan = { operation: 'rows.insert' };
  server.answerWith(() => Response.json({ dry_run: true, plan }));
  expect(await todos.insert({}, { dryRun: true })).toMatchObject({ plan });
  expect(server.seen[0]!.query).toEqual([['dry_run', 'true']]);
});

test('the own access is asked for beside the rows', async () => {
  const access = { actions: [], columns: [], filter: 'no rows', because: [], reason: 'No.', next: 'Ask.' };
  server.answerWith(() => Response.json(access));
  expect(await todos.access()).toEqual(access as never);
  expect(server.seen[0]!.path).toBe('/data/acme/todo/todos/_access');
});

test('one row is read with its ETag, or not at all if it has not changed', async () => {
  server.answerWith(() => Response.json({ id: 'x' }, { headers: { etag: '"7.1"' } }));
  expect(await todos.get('a/b?c')).toEqual({ row: { id: 'x' }, etag: '"7.1"' });
  expect(server.seen[0]!.path).toBe('/data/acme/todo/todos/a%2Fb%3Fc');
  server.answerWith(() => new Response(null, { status: 304, headers: { etag: '"7.1"' } }));
  expect(await todos.get(5n, { ifNoneMatch: '"7.1"' })).toEqual({ row: null, etag: '"7.1"' });
  expect(server.seen[0]!.headers.get('if-none-match')).toBe('"7.1"');
  for (const id of ['', '.', '..']) expect(await caught(todos.get(id))).toBeInstanceOf(TypeError);
});

test('an update and a deletion can require an ETag', async () => {
  server.answerWith(() => Response.json({ id: 'x' }, { headers: { etag: '"8.1"' } }));
  await todos.update('x', { done: true }, { ifMatch: '"7.1"' });
  expect([server.seen[0]!.method, server.seen[0]!.headers.get('if-match')]).toEqual(['PATCH', '"7.1"']);
  server.answerWith(() => problem(412, 'precondition_failed'));
  expect(await codeOf(todos.delete('x', { ifMatch: '"7.1"' }))).toBe('precondition_failed');
  server.answerWith(() => new Response(null, { status: 204 }));
  expect(await todos.delete('x')).toBeUndefined();
});

test('an error has code, status, fields and request id; an error of another server has its own code', async () => {
  const errors = [{ column: 'title', code: 'required', detail: 'is missing' }];
  server.answerWith(() => problem(400, 'validation_failed', { errors }));
  const error = await caught(todos.insert({}));
  expect(error).toBeInstanceOf(SvcError);
  expect(error).toMatchObject({
    code: 'validation_failed',
    status: 400,
    errors,
    requestId: 'r-1',
    retryAfter: null,
  });
  server.answerWith(() => new Response('<h1>Bad gateway</h1>', { status: 502 }));
  expect(await caught(todos.list())).toMatchObject({ code: 'unexpected_answer', status: 502 });
  server.answerWith(() => new Response('<h1>Hello</h1>'));
  expect(await caught(todos.list())).toMatchObject({ code: 'unexpected_answer', status: 200 });
});

test('a rate-limited call is repeated after the given time if it is safe, and not for ever', async () => {
  const busy = () => problem(429, 'rate_limited', { headers: { 'retry-after': '0' } });
  server.answerWith(busy, () => problem(503, 'unavailable'), emptyPage);
  expect((await todos.list()).data).toEqual([]);
  expect(server.seen.length).toBe(3);
  server.answerWith(busy);
  expect(
    await codeOf(
      createClient({ ...options, retriesMax: 1 })
        .table('todos')
        .list(),
    ),
  ).toBe('rate_limited');
  expect(server.seen.length).toBe(2);
  for (const attempt of [() => todos.insert({}), () => todos.update('x', {}), () => todos.delete('x')]) {
    server.answerWith(busy);
    expect(await codeOf(attempt())).toBe('rate_limited');
    expect(server.seen.length).toBe(1);
  }
  server.answerWith(() => problem(429, 'rate_limited', { headers: { 'retry-after': '3600' } }));
  expect(await caught(todos.list())).toMatchObject({ code: 'rate_limited', retryAfter: 3600 });
  expect(server.seen.length).toBe(1);
});

test('a server that is unreachable or too slow is a network error', async () => {
  const nowhere = createClient({ ...options, baseUrl: 'http://127.0.0.1:1', retriesMax: 0 });
  expect(await caught(nowhere.table('todos').list())).toBeInstanceOf(SvcNetworkError);
  server.answerWith(() => new Promise(() => {}));
  const hasty = createClient({ ...options, timeoutMs: 50, retriesMax: 0 });
  const error = await caught(hasty.table('todos').insert({}));
  expect(error).toBeInstanceOf(SvcNetworkError);
  expect(String(error)).toContain('0.05 seconds');
});

test('an aborted call ends with the given reason', async () => {
  server.answerWith(() => new Promise(() => {}));
  const stop = new AbortController();
  const ended = caught(todos.list({ signal: stop.signal }));
  stop.abort(new Error('enough'));
  expect(await ended).toMatchObject({ message: 'enough' });
});

test('many rows are sent in batches, each with its own key', async () => {
  let next = 0;
  server.answerWith(({ body }) => {
    const lines = body.trimEnd().split('\n');
    return Response.json({ inserted: lines.length, ids: lines.map(() => String(next++)) }, { status: 201 });
  });
  async function* rows() {
    for (let n = 0n; n < 5n; n++) yield { n };
  }
  const progress: number[] = [];
  const result = await todos.insertMany(rows(), {
    batchSize: 2,
    onConflict: 'n',
    resolution: 'merge',
    onBatch: (inserted) => progress.push(inserted),
  });
  expect(result).toEqual({ inserted: 5, updated: 0, ids: ['0', '1', '2', '3', '4'] });
  expect(progress).toEqual([2, 4, 5]);
  expect(server.seen.map(({ body }) => body)).toEqual([
    '{"n":0}\n{"n":1}\n',
    '{"n":2}\n{"n":3}\n',
    '{"n":4}\n',
  ]);
  expect(new Set(server.seen.map(({ headers }) => headers.get('idempotency-key'))).size).toBe(3);
  const [{ headers, query }] = server.seen as [(typeof server.seen)[0]];
  expect(query).toEqual([['on_conflict', 'n']]);
  expect(headers.get('prefer')).toBe('resolution=merge-duplicates');
  expect(headers.get('content-type')).toBe('application/x-ndjson');
  server.answerWith(emptyPage);
  expect(await todos.insertMany([])).toEqual({ inserted: 0, updated: 0, ids: [] });
  expect(server.seen).toEqual([]);
});

test('large rows make short batches', async () => {
  server.answerWith(({ body }) => Response.json({ inserted: body.trimEnd().split('\n').length, ids: [] }));
  const text = 'x'.repeat(3 * 1024 * 1024);
  expect((await todos.insertMany([{ text }, { text }, { text }])).inserted).toBe(3);
  expect(server.seen.map(({ body }) => body.length < 8 * 1024 * 1024)).toEqual([true, true]);
});

test('a batch without an answer is sent again with the same key, also while the first still runs', async () => {
  server.answerWith(
    () => new Promise(() => {}),
    () => problem(409, 'idempotency_in_progress'),
    () => Response.json({ inserted: 1, ids: ['1'] }, { status: 201 }),
  );
  const hasty = createClient({ ...options, timeoutMs: 100 }).table('todos');
  expect(await hasty.insertMany([{ n: 1 }])).toEqual({ inserted: 1, updated: 0, ids: ['1'] });
  expect(server.seen.length).toBe(3);
  expect(new Set(server.seen.map(({ headers }) => headers.get('idempotency-key'))).size).toBe(1);
});

test('a rejected batch names the invalid lines, and how many rows were stored before it', async () => {
  const errors = [{ line: 2, column: 'n', code: 'invalid', detail: 'is no number' }];
  server.answerWith(
    () => Response.json({ inserted: 2, ids: ['1', '2'] }, { status: 201 }),
    () => problem(400, 'validation_failed', { errors }),
  );
  const error = await caught(todos.insertMany([{ n: 1 }, { n: 2 }, { n: 3 }, { n: 'x' }], { batchSize: 2 }));
  expect(error).toBeInstanceOf(SvcBatchError);
  expect(error).toMatchObject({ code: 'validation_failed', inserted: 2, errors: [{ line: 4, column: 'n' }] });
  // The message names the same line as the list.
  expect(error).toMatchObject({
    detail: 'line 4: n is no number',
    message: expect.stringContaining('line 4'),
  });
});

test('rows that match are changed by one call, which is sent again with the same key', async () => {
  server.answerWith(
    () => problem(503, 'unavailable'),
    () => Response.json({ updated: 2, ids: [1, 2] }),
  );
  const changed = await todos.updateMany(
    [['done', 'is', true], { or: [['n', 'gt', 1]] }],
    { old: true },
    { maxAffected: 5 },
  );
  expect(changed).toEqual({ updated: 2, ids: [1, 2] });
  const [first, second] = server.seen;
  expect([first!.method, first!.path, first!.body]).toEqual([
    'PATCH',
    '/data/acme/todo/todos',
    '{"old":true}',
  ]);
  expect(first!.query).toEqual([
    ['done', 'is.true'],
    ['or', '(n.gt.1)'],
    ['_max_affected', '5'],
  ]);
  expect(second!.headers.get('idempotency-key')).toBe(first!.headers.get('idempotency-key'));
  server.answerWith(() => Response.json({ deleted: 1, ids: [1], data: [{ id: 1 }] }));
  const options = { returning: 'rows', ifPlan: 'f1' } as const;
  expect(await todos.deleteMany(['n', 'eq', 1], options)).toEqual({
    deleted: 1,
    ids: [1],
    rows: [{ id: 1 }],
  });
  const { headers } = server.seen[0]!;
  expect([headers.get('prefer'), headers.get('if-plan')]).toEqual(['return=representation', 'f1']);
  server.answerWith(() => Response.json({ dry_run: true, plan: { operation: 'rows.deleteMany' } }));
  expect(await todos.deleteMany(['n', 'eq', 1], { dryRun: true })).toMatchObject({
    plan: { operation: 'rows.deleteMany' },
  });
  expect(await caught(todos.deleteMany([]))).toBeInstanceOf(TypeError);
});

test('a batch is one request over tables, and typed by them', async () => {
  server.answerWith(() =>
    Response.json({ results: [{ op: 'insert', status: 201, row: { id: 'a', n: 1 } }] }),
  );
  type Described = {
    orders: { Row: { id: string; n: number }; Insert: { n: number }; Update: { n?: number } };
    lines: { Row: { id: string; order: string }; Insert: { order: string }; Update: object };
  };
  const client = createClient<Described>(options);
  const { results } = await client.batch([
    { op: 'insert', table: 'orders', as: 'order', values: { n: 1 } },
    { op: 'insert', table: 'lines', values: { order: { $ref: 'order.id' } } },
    { op: 'delete', table: 'lines', id: 7n },
  ]);
  const n: number | undefined = results[0].row?.n;
  expect(n).toBe(1);
  const { path, body, headers } = server.seen[0]!;
  expect([path, headers.get('idempotency-key')]).toEqual(['/data/acme/todo/_batch', expect.any(String)]);
  expect(body).toContain('{"op":"delete","table":"lines","id":7}');
  // @ts-expect-error: the column does not exist.
  const wrong = () => client.batch([{ op: 'insert', table: 'orders', values: { m: 1 } }]);
  expect(wrong).toBeFunction();
});

test('a rejected token is requested again, once', async () => {
  const tokens = ['old', 'new', 'new'];
  const client = createClient({ ...options, auth: { token: () => tokens.shift() ?? 'new' } });
  server.answerWith(() => problem(401, 'unauthenticated'), emptyPage);
  await client.table('todos').list();
  expect(server.seen.map(({ headers }) => headers.get('authorization'))).toEqual([
    'Bearer old',
    'Bearer new',
  ]);
  server.answerWith(() => problem(401, 'unauthenticated'));
  expect(await codeOf(client.table('todos').list())).toBe('unauthenticated');
  expect(server.seen.length).toBe(1);
});

test('a typed client accepts only its tables', () => {
  type Described = { todos: { Row: { id: string }; Insert: object; Update: object } };
  const client = createClient<Described>(options);
  client.table('todos');
  // @ts-expect-error: the table is not declared.
  client.table('zzz');
  createClient(options).table('zzz');
});
