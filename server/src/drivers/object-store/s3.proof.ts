import { describe, expect, test } from 'bun:test';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { patientMs } from '../../../../scripts/patience.ts';
import { Failure } from '../../core/problem.ts';
import { runBun } from '../database/testing.ts';
import { describeObjectStore } from './conformance-testing.ts';
import type { ObjectStore } from './object-store.ts';
import { createS3Client, objectUrl, s3Limits, xmlElements } from './s3-client.ts';
import { abortAbandonedUploads, openS3Store } from './s3-store.ts';

import { bodyFrom, hasS3Server, repeatLetter, testBucket } from './testing.ts';

const countUploads = async (config: Parameters<typeof openS3Store>[0]) => {
  const { text } = await createS3Client(config, s3Limits).ask(
    { method: 'GET', query: { uploads: '' } },
    [200],
  );
  return xmlElements(text, 'Upload').length;
};
const large = 9 * 1024 * 1024;

describe.if(hasS3Server)('the S3 store, on a real server,', () => {
  const configs: Parameters<typeof openS3Store>[0][] = [];
  describeObjectStore({
    open: async () => {
      const config = await testBucket();
      configs.push(config);
      return openS3Store(config);
    },
    listedKeys: 310,
    largeBytes: large,
    countUnfinished: async () =>
      (await Promise.all(configs.map(countUploads))).reduce((sum, found) => sum + found, 0),
  });

  test('hides the upload of a killed process', async () => {
    const config = await testBucket();
    const store = openS3Store(config);
    await store.put('killed/before', bodyFrom('before'), { bytesMax: 10 });
    const child = runBun(`
      import { openS3Store } from '../object-store/s3-store.ts';
      import { repeatLetter } from '../object-store/testing.ts';
      const store = openS3Store(${JSON.stringify(config)});
      async function* body() {
        yield* repeatLetter('x', ${large});
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
    const client = createS3Client(config, s3Limits);
    await abortAbandonedUploads(client, { before: new Date(Date.now() - 60_000) });
    expect(await countUploads(config)).toBe(2);
    await abortAbandonedUploads(client, { before: new Date(Date.now() + 60_000) });
    expect(await countUploads(config)).toBe(0);
  });

  test('reports which setting is wrong', async () => {
    const config = await testBucket();
    const checkWith = (change: Partial<typeof config>) =>
      openS3Store({ ...config, ...change })
        .check()
        .then(() => 'nothing', String);
    expect(await checkWith({})).toBe('nothing');
    expect(await checkWith({ secretAccessKey: 'wrong' })).toContain('403 SignatureDoesNotMatch');
    expect(await checkWith({ accessKeyId: 'nobody' })).toContain('S3 responded 403');
    expect(await checkWith({ bucket: 'absent' })).toContain('404 NoSuchBucket');
    expect(await checkWith({ region: 'mars-north-1' })).toContain('AuthorizationHeaderMalformed');
    expect(await checkWith({ endpoint: 'http://127.0.0.1:1' })).toContain('cannot be written');
    for (const change of [{ secretAccessKey: 'hunter2' }, { endpoint: 'http://127.0.0.1:1' }])
      expect(await checkWith(change)).not.toMatch(/hunter2|testing/);
  });

  test('distinguishes a missing bucket from a missing object', async () => {
    const store = openS3Store({ ...(await testBucket()), bucket: 'absent' });
    for (const attempt of [
      () => store.get('a'),
      () => store.stat('a'),
      () => Array.fromAsync(store.list('')),
    ])
      expect(await errorCode(attempt())).toBe('unavailable');
  });
});

const testConfig = {
  kind: 's3',
  bucket: 'objects',
  region: 'us-east-1',
  accessKeyId: 'a',
  secretAccessKey: 'b',
} as const;

const limitMs = patientMs(150);

async function withFaultyServer<T>(
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
    const limits = { answerMs: limitMs, uploadMs: limitMs, idleMs: limitMs };
    return await work(openS3Store({ ...testConfig, endpoint: `http://127.0.0.1:${port}` }, limits));
  } finally {
    for (const socket of sockets) socket.destroy();
    server.close();
  }
}

const errorCode = (attempt: Promise<unknown>) =>
  attempt.then(
    () => 'no error',
    (error) => (error instanceof Failure ? error.code : String(error)),
  );
const answer = (status: string, body = '', length = body.length) =>
  `HTTP/1.1 ${status}\r\nContent-Length: ${length}\r\n\r\n${body}`;

describe('the S3 store is unavailable without a long wait when the server', () => {
  const every: Record<string, (store: ObjectStore) => Promise<unknown>> = {
    put: (store) => store.put('a', bodyFrom('x'), { bytesMax: 1 }),
    'large put': (store) => store.put('a', repeatLetter('x', large), { bytesMax: large }),
    get: (store) => store.get('a'),
    stat: (store) => store.stat('a'),
    delete: (store) => store.delete('a'),
    list: (store) => Array.fromAsync(store.list('')),
  };
  const errorCodes = async (store: ObjectStore) =>
    Object.fromEntries(
      await Promise.all(
        Object.entries(every).map(async ([name, call]) => [name, await errorCode(call(store))] as const),
      ),
    );
  const allUnavailable = Object.fromEntries(Object.keys(every).map((name) => [name, 'unavailable']));

  test('accepts requests but never responds', async () => {
    const startedAt = performance.now();
    expect(await withFaultyServer(() => {}, errorCodes)).toEqual(allUnavailable);
    expect(performance.now() - startedAt).toBeLessThan(20 * limitMs);
  });

  test('closes the connection', async () => {
    expect(await withFaultyServer((socket) => socket.destroy(), errorCodes)).toEqual(allUnavailable);
  });

  test('always responds with errors', async () => {
    const error = answer('503 Slow Down', '<Error><Code>SlowDown</Code></Error>');
    expect(await withFaultyServer((socket) => socket.write(error), errorCodes)).toEqual(allUnavailable);
  });

  test('redirects', async () => {
    const moved = answer('301 Moved', '<Error><Code>PermanentRedirect</Code></Error>');
    expect(await withFaultyServer((socket) => socket.write(moved), errorCodes)).toEqual(allUnavailable);
  });

  test.each([
    ['pauses', () => {}],
    ['ends', (socket: Socket) => socket.end()],
  ])('%s in the middle of a body', async (_, then) => {
    const half = (socket: Socket) => {
      socket.write(answer('200 OK', 'half', 8));
      then(socket);
    };
    const readAll = async (store: ObjectStore) => {
      const found = await store.get('a');
      return await errorCode(new Response(found?.body).text());
    };
    expect(await withFaultyServer(half, readAll)).toBe('unavailable');
  });

  test('fails to complete a multipart upload with status 200', async () => {
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
    const store = openS3Store({ ...testConfig, endpoint: `http://127.0.0.1:${server.port}` });
    const code = await errorCode(store.put('a', repeatLetter('x', large), { bytesMax: large }));
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

  test('recovers from a temporary error, because requests are retried', async () => {
    let count = 0;
    const behave = (socket: Socket) =>
      socket.write(++count < 3 ? answer('500 Oops') : answer('200 OK', 'hello'));
    const text = await withFaultyServer(behave, async (store) =>
      new Response((await store.get('a'))?.body).text(),
    );
    expect([text, count]).toEqual(['hello', 3]);
  });
});

test('objectUrl has the bucket in the path, but in the host for Amazon', () => {
  const of = (endpoint: string, bucket: string) => objectUrl({ endpoint, bucket }, { key: 'a/b' }).href;
  expect(of('http://127.0.0.1:9000', 'objects')).toBe('http://127.0.0.1:9000/objects/a/b');
  expect(of('https://example.com/storage/s3', 'objects')).toBe('https://example.com/storage/s3/objects/a/b');
  expect(of('https://s3.eu-west-1.amazonaws.com', 'objects')).toBe(
    'https://objects.s3.eu-west-1.amazonaws.com/a/b',
  );
  expect(of('https://s3.eu-west-1.amazonaws.com', 'a.b')).toBe('https://s3.eu-west-1.amazonaws.com/a.b/a/b');
});
