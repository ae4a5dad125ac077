import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { Failure } from '../../plumbing/problem.ts';
import { runBun } from '../database/testing.ts';
import { abortAbandoned } from './abort-abandoned.ts';
import { describeObjectStore } from './conformance.ts';
import type { ObjectStore } from './object-store.ts';
import { addressOf, createS3Client, s3Limits } from './s3-client.ts';
import { openS3Store } from './s3-store.ts';
import { elementsOf } from './s3-xml.ts';
import { bodyOf, hasS3Server, letters, needsS3Server, testBucket } from './testing.ts';

setDefaultTimeout(60_000);

const uploadsIn = async (place: Parameters<typeof openS3Store>[0]) => {
  const { text } = await createS3Client(place, s3Limits).ask(
    { method: 'GET', query: { uploads: '' } },
    [200],
  );
  return elementsOf(text, 'Upload').length;
};
const large = 9 * 1024 * 1024;

describe.skipIf(!hasS3Server && !needsS3Server)('the S3 store, on a real server,', () => {
  const places: Parameters<typeof openS3Store>[0][] = [];
  describeObjectStore({
    open: async () => {
      const place = await testBucket();
      places.push(place);
      return openS3Store(place);
    },
    listedKeys: 310,
    largeBytes: large,
    leftovers: async () => (await Promise.all(places.map(uploadsIn))).reduce((sum, found) => sum + found, 0),
  });

  test('shows nothing of an upload whose process was killed', async () => {
    const place = await testBucket();
    const store = openS3Store(place);
    await store.put('killed/before', bodyOf('before'), { bytesMax: 10 });
    const child = runBun(`
      import { openS3Store } from '../object-store/s3-store.ts';
      import { letters } from '../object-store/testing.ts';
      const store = openS3Store(${JSON.stringify(place)});
      async function* body() {
        yield* letters('x', ${large});
        console.log('in the middle');
        await new Promise(() => setInterval(() => {}, 1000));
      }
      await Promise.all(['killed/before', 'killed/absent'].map((key) => store.put(key, body(), { bytesMax: 1e9 })));
    `);
    await child.line();
    await child.line();
    child.child.kill('SIGKILL');
    await child.ended;
    const keys: string[] = [];
    for await (const { key } of store.list('')) keys.push(key);
    expect([keys, await store.stat('killed/before')]).toEqual([['killed/before'], { size: 6 }]);
    // Its parts are still there, for a day.
    const client = createS3Client(place, s3Limits);
    await abortAbandoned(client, { before: new Date(Date.now() - 60_000) });
    expect(await uploadsIn(place)).toBe(2);
    await abortAbandoned(client, { before: new Date(Date.now() + 60_000) });
    expect(await uploadsIn(place)).toBe(0);
  });

  test('says to the operator which part of its settings is wrong', async () => {
    const place = await testBucket();
    const saidOf = (change: Partial<typeof place>) =>
      openS3Store({ ...place, ...change })
        .check()
        .then(() => 'nothing', String);
    expect(await saidOf({})).toBe('nothing');
    expect(await saidOf({ secretAccessKey: 'wrong' })).toContain('403 SignatureDoesNotMatch');
    expect(await saidOf({ accessKeyId: 'nobody' })).toContain('S3 answered 403');
    expect(await saidOf({ bucket: 'absent' })).toContain('404 NoSuchBucket');
    expect(await saidOf({ region: 'mars-north-1' })).toContain('AuthorizationHeaderMalformed');
    expect(await saidOf({ endpoint: 'http://127.0.0.1:1' })).toContain('can not be written');
    for (const change of [{ secretAccessKey: 'hunter2' }, { endpoint: 'http://127.0.0.1:1' }])
      expect(await saidOf(change)).not.toMatch(/hunter2|testing/);
  });

  test('never takes a bucket that is not there for an object that is not', async () => {
    const store = openS3Store({ ...(await testBucket()), bucket: 'absent' });
    for (const attempt of [
      () => store.get('a'),
      () => store.stat('a'),
      () => Array.fromAsync(store.list('')),
    ])
      expect(await codeOf(attempt())).toBe('unavailable');
  });
});

const somewhere = {
  kind: 's3',
  bucket: 'objects',
  region: 'us-east-1',
  accessKeyId: 'a',
  secretAccessKey: 'b',
} as const;

/** What a store may do that has seen better days. Each connection is handled as the test says. */
async function troubled<T>(
  onRequest: (socket: Socket) => void,
  work: (store: ObjectStore) => Promise<T>,
): Promise<T> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', () => onRequest(socket));
  });
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  try {
    const limits = { answerMs: 150, uploadMs: 150, idleMs: 150 };
    return await work(openS3Store({ ...somewhere, endpoint: `http://127.0.0.1:${port}` }, limits));
  } finally {
    for (const socket of sockets) socket.destroy();
    server.close();
  }
}

const codeOf = (attempt: Promise<unknown>) =>
  attempt.then(
    () => 'no error',
    (error) => (error instanceof Failure ? error.code : String(error)),
  );
const answer = (status: string, body = '', length = body.length) =>
  `HTTP/1.1 ${status}\r\nContent-Length: ${length}\r\n\r\n${body}`;

describe('a store in trouble is unavailable, and nobody waits for it:', () => {
  const every: Record<string, (store: ObjectStore) => Promise<unknown>> = {
    put: (store) => store.put('a', bodyOf('x'), { bytesMax: 1 }),
    'large put': (store) => store.put('a', letters('x', large), { bytesMax: large }),
    get: (store) => store.get('a'),
    stat: (store) => store.stat('a'),
    delete: (store) => store.delete('a'),
    list: (store) => Array.fromAsync(store.list('')),
  };
  const codesOf = async (store: ObjectStore) =>
    Object.fromEntries(
      await Promise.all(
        Object.entries(every).map(async ([name, call]) => [name, await codeOf(call(store))] as const),
      ),
    );
  const allUnavailable = Object.fromEntries(Object.keys(every).map((name) => [name, 'unavailable']));

  test('it takes requests and is silent', async () => {
    const begun = performance.now();
    expect(await troubled(() => {}, codesOf)).toEqual(allUnavailable);
    expect(performance.now() - begun).toBeLessThan(3_000);
  });

  test('it cuts the line', async () => {
    expect(await troubled((socket) => socket.destroy(), codesOf)).toEqual(allUnavailable);
  });

  test('it has errors of its own, every time', async () => {
    const error = answer('503 Slow Down', '<Error><Code>SlowDown</Code></Error>');
    expect(await troubled((socket) => socket.write(error), codesOf)).toEqual(allUnavailable);
  });

  test('it sends us elsewhere', async () => {
    const moved = answer('301 Moved', '<Error><Code>PermanentRedirect</Code></Error>');
    expect(await troubled((socket) => socket.write(moved), codesOf)).toEqual(allUnavailable);
  });

  test.each([
    ['falls silent', () => {}],
    ['is cut', (socket: Socket) => socket.end()],
  ])('what is being read %s in the middle, which is never taken for the end', async (_, then) => {
    const half = (socket: Socket) => {
      socket.write(answer('200 OK', 'half', 8));
      then(socket);
    };
    const readAll = async (store: ObjectStore) => {
      const found = await store.get('a');
      return await codeOf(new Response(found?.body).text());
    };
    expect(await troubled(half, readAll)).toBe('unavailable');
  });

  test('it fails to join the parts of an upload, and says so with a success', async () => {
    const requests: string[] = [];
    const server = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: async (request) => {
        const { pathname, search } = new URL(request.url);
        const { length } = await request.bytes();
        requests.push(
          `${request.method} ${pathname}${search}${request.method === 'PUT' ? ` ${length}` : ''}`,
        );
        if (search === '?uploads=') return new Response('<R><UploadId>u1</UploadId></R>');
        if (request.method === 'POST') return new Response('<Error><Code>InternalError</Code></Error>');
        return new Response('', { headers: { etag: '"e"' } });
      },
    });
    const store = openS3Store({ ...somewhere, endpoint: `http://127.0.0.1:${server.port}` });
    const code = await codeOf(store.put('a', letters('x', large), { bytesMax: large }));
    await server.stop(true);
    expect(code).toBe('unavailable');
    expect(requests).toEqual([
      'POST /objects/a?uploads=',
      'PUT /objects/a?partNumber=1&uploadId=u1 8388608',
      'PUT /objects/a?partNumber=2&uploadId=u1 1048576',
      'POST /objects/a?uploadId=u1',
      'DELETE /objects/a?uploadId=u1',
    ]);
  });

  test('a passing error is tried again, and nobody hears of it', async () => {
    let count = 0;
    const behave = (socket: Socket) =>
      socket.write(++count < 3 ? answer('500 Oops') : answer('200 OK', 'hello'));
    const text = await troubled(behave, async (store) => new Response((await store.get('a'))?.body).text());
    expect([text, count]).toEqual(['hello', 3]);
  });
});

test('the bucket is in the path, but for Amazon in the host, where its name allows it', () => {
  const of = (endpoint: string, bucket: string) => addressOf({ endpoint, bucket }, { key: 'a/b' }).href;
  expect(of('http://127.0.0.1:9000', 'objects')).toBe('http://127.0.0.1:9000/objects/a/b');
  expect(of('https://example.com/storage/s3', 'objects')).toBe('https://example.com/storage/s3/objects/a/b');
  expect(of('https://s3.eu-west-1.amazonaws.com', 'objects')).toBe(
    'https://objects.s3.eu-west-1.amazonaws.com/a/b',
  );
  expect(of('https://s3.eu-west-1.amazonaws.com', 'a.b')).toBe('https://s3.eu-west-1.amazonaws.com/a.b/a/b');
});
