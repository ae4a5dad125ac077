import { expect, test } from 'bun:test';
import { connect } from 'node:net';
import { fail } from '../../core/problem.ts';
import {
  connectClient,
  exchange,
  get,
  siteHost,
  startListener,
  textResponse,
  waitUntilStable,
} from './testing.ts';

const close = 'Connection: close\r\n\r\n';
const readBody = (answer: string) => answer.slice(answer.indexOf('\r\n\r\n') + 4);

/** Chunks on demand; records the reads, and the cancellation. */
function piecewise(pieces: number, size: number) {
  const seen = { pulled: 0, isCancelled: false };
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (seen.pulled === pieces) return controller.close();
        controller.enqueue(Buffer.alloc(size, 97 + (seen.pulled++ % 26)));
      },
      cancel: () => {
        seen.isCancelled = true;
      },
    },
    { highWaterMark: 0 },
  );
  return { body, seen };
}

test('a stream of known length is sent as is, and the next response follows', async () => {
  await using raw = startListener(({ path }) =>
    path === '/next'
      ? textResponse('next')
      : { status: 200, headers: { 'content-length': '9' }, body: piecewise(3, 3).body },
  );
  const received = await exchange(raw.port, `${get('/')}\r\n${get('/next')}${close}`);
  expect(received).toContain('content-length: 9\r\n');
  expect(readBody(received)).toStartWith('aaabbbcccHTTP/1.1 200 OK\r\n');
  expect(received).toEndWith('\r\n\r\nnext');
});

test('a stream of unknown length is chunked; for HTTP/1.0 it ends with the connection', async () => {
  await using raw = startListener(() => ({ status: 200, headers: {}, body: piecewise(2, 12).body }));
  const chunked = await exchange(raw.port, `${get('/')}${close}`);
  expect(chunked).toContain('transfer-encoding: chunked\r\n');
  expect(readBody(chunked)).toBe('c\r\naaaaaaaaaaaa\r\nc\r\nbbbbbbbbbbbb\r\n0\r\n\r\n');
  const old = await exchange(raw.port, `${get('/', '1.0')}\r\n`);
  expect(old).not.toMatch(/transfer-encoding|content-length/);
  expect(readBody(old)).toBe('aaaaaaaaaaaabbbbbbbbbbbb');
});

test('what is recorded when a stream or an error was sent has the id of its response', async () => {
  const requestIds: (() => string)[] = [];
  await using raw = startListener((request) => {
    requestIds.push(() => request.requestId());
    if (request.path === '/fails') throw fail('not_found');
    return { status: 200, headers: {}, body: piecewise(2, 12).body };
  });
  for (const path of ['/', '/fails']) {
    const received = await exchange(raw.port, `${get(path)}${close}`);
    expect(/^x-request-id: (.+)\r$/m.exec(received)?.[1]).toBe(requestIds.pop()?.());
  }
});

test('a stream that fails or has another length than announced closes the connection', async () => {
  await using raw = startListener(({ path }) => {
    if (path === '/breaks') {
      const body = new ReadableStream<Uint8Array>({
        pull: (controller) => controller.error(new Error('broken')),
      });
      return { status: 200, headers: {}, body };
    }
    const headers = { 'content-length': path === '/short' ? '10' : '5' };
    return { status: 200, headers, body: piecewise(3, 3).body };
  });
  expect(readBody(await exchange(raw.port, `${get('/breaks')}\r\n`))).toBe('');
  expect(readBody(await exchange(raw.port, `${get('/short')}\r\n`)).length).toBeLessThan(10);
  expect(readBody(await exchange(raw.port, `${get('/long')}\r\n`)).length).toBeLessThan(5);
  expect(raw.logged.filter((line) => line.includes('response aborted')).length).toBe(3);
});

test('HEAD does not read a stream, and sends its length where it is known', async () => {
  const { body, seen } = piecewise(3, 3);
  await using raw = startListener(() => ({ status: 200, headers: { 'content-length': '9' }, body }));
  const received = await exchange(raw.port, `HEAD / HTTP/1.1\r\nHost: ${siteHost}\r\n${close}`);
  expect(received).toContain('content-length: 9\r\n');
  expect(readBody(received)).toBe('');
  expect(seen).toEqual({ pulled: 0, isCancelled: true });
});

test('a stream is cancelled when its client disconnects', async () => {
  const late = Promise.withResolvers<void>();
  const [endless, unwanted] = [piecewise(Number.POSITIVE_INFINITY, 1 << 16), piecewise(1, 1)];
  await using raw = startListener(({ path }) =>
    path === '/late'
      ? late.promise.then(() => ({ status: 200, headers: {}, body: unwanted.body }))
      : { status: 200, headers: {}, body: endless.body },
  );
  const [leaving, gone] = [await connectClient(raw.port), await connectClient(raw.port)];
  leaving.send(`${get('/')}\r\n`);
  await leaving.until('aaa');
  leaving.socket.resetAndDestroy();
  gone.send(`${get('/late')}\r\n`);
  await raw.waitForRequests(2);
  gone.socket.resetAndDestroy();
  await waitUntil(() => endless.seen.isCancelled);
  late.resolve();
  await waitUntil(() => unwanted.seen.isCancelled);
});

for (const kind of ['bytes', 'stream'] as const) {
  test(`20 MiB of ${kind} reach a slow reader completely, without a copy`, async () => {
    const size = 20 << 20;
    const piece = 1 << 16;
    const whole = Buffer.concat(
      Array.from({ length: size / piece }, (_, index) => Buffer.alloc(piece, 97 + (index % 26))),
    );
    const streamed = piecewise(size / piece, piece);
    const answer = () => ({
      status: 200,
      headers: Object.freeze({ 'content-length': String(size) }),
      body: kind === 'bytes' ? whole : streamed.body,
    });
    // All responses share the bytes, which are counted for each.
    await using raw = startListener(answer, { limits: { queuedBytesMax: 8 * size } });
    const readers = Array.from({ length: 8 }, () => connect(raw.port, '127.0.0.1').pause());
    const before = process.memoryUsage().rss;
    const asking = kind === 'bytes' ? readers : readers.slice(0, 1);
    for (const reader of asking) reader.write(`${get('/')}${close}`);
    await raw.waitForRequests(asking.length);
    await waitUntilStable(() => process.memoryUsage().rss >> 20);
    // The system's buffers take some; the process does not buffer it a second time.
    expect(process.memoryUsage().rss - before).toBeLessThan(size);
    if (kind === 'stream') expect(streamed.seen.pulled).toBeLessThan(size / piece);
    for (const reader of asking) {
      const received = Buffer.concat(await Array.fromAsync(reader));
      expect(received.subarray(received.indexOf('\r\n\r\n') + 4).equals(whole)).toBe(true);
    }
    for (const reader of readers) reader.destroy();
  });
}

async function waitUntil(isSo: () => boolean): Promise<void> {
  while (!isSo()) await Bun.sleep(5);
}
