import { expect, test } from 'bun:test';
import { connect } from 'node:net';
import { get, sayAll, siteHost, startRaw, talk, textAnswer, untilStill } from './testing.ts';

const close = 'Connection: close\r\n\r\n';
const bodyOf = (answer: string) => answer.slice(answer.indexOf('\r\n\r\n') + 4);

/** Pieces one by one, as they are asked for; tells what was asked for, and when nobody wants more. */
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

test('a stream of a known length goes as it is, and the next answer follows it', async () => {
  await using raw = startRaw(({ path }) =>
    path === '/next'
      ? textAnswer('next')
      : { status: 200, headers: { 'content-length': '9' }, body: piecewise(3, 3).body },
  );
  const heard = await sayAll(raw.port, `${get('/')}\r\n${get('/next')}${close}`);
  expect(heard).toContain('content-length: 9\r\n');
  expect(bodyOf(heard)).toStartWith('aaabbbcccHTTP/1.1 200 OK\r\n');
  expect(heard).toEndWith('\r\n\r\nnext');
});

test('a stream of unknown length goes in chunks, to HTTP/1.0 until the end of the connection', async () => {
  await using raw = startRaw(() => ({ status: 200, headers: {}, body: piecewise(2, 12).body }));
  const chunked = await sayAll(raw.port, `${get('/')}${close}`);
  expect(chunked).toContain('transfer-encoding: chunked\r\n');
  expect(bodyOf(chunked)).toBe('c\r\naaaaaaaaaaaa\r\nc\r\nbbbbbbbbbbbb\r\n0\r\n\r\n');
  const old = await sayAll(raw.port, `${get('/', '1.0')}\r\n`);
  expect(old).not.toMatch(/transfer-encoding|content-length/);
  expect(bodyOf(old)).toBe('aaaaaaaaaaaabbbbbbbbbbbb');
});

test('a stream that breaks off, or is not as long as was said, is never taken for whole', async () => {
  await using raw = startRaw(({ path }) => {
    if (path === '/breaks') {
      const body = new ReadableStream<Uint8Array>({
        pull: (controller) => controller.error(new Error('broken')),
      });
      return { status: 200, headers: {}, body };
    }
    const headers = { 'content-length': path === '/short' ? '10' : '5' };
    return { status: 200, headers, body: piecewise(3, 3).body };
  });
  expect(bodyOf(await sayAll(raw.port, `${get('/breaks')}\r\n`))).toBe('');
  expect(bodyOf(await sayAll(raw.port, `${get('/short')}\r\n`)).length).toBeLessThan(10);
  expect(bodyOf(await sayAll(raw.port, `${get('/long')}\r\n`)).length).toBeLessThan(5);
  expect(raw.logged.filter((line) => line.includes('an answer broke off')).length).toBe(3);
});

test('HEAD does not read a stream, and says its length where it is known', async () => {
  const { body, seen } = piecewise(3, 3);
  await using raw = startRaw(() => ({ status: 200, headers: { 'content-length': '9' }, body }));
  const heard = await sayAll(raw.port, `HEAD / HTTP/1.1\r\nHost: ${siteHost}\r\n${close}`);
  expect(heard).toContain('content-length: 9\r\n');
  expect(bodyOf(heard)).toBe('');
  expect(seen).toEqual({ pulled: 0, isCancelled: true });
});

test('a stream whose client is gone is cancelled, and so is one that comes too late', async () => {
  const late = Promise.withResolvers<void>();
  const [endless, unwanted] = [piecewise(Number.POSITIVE_INFINITY, 1 << 16), piecewise(1, 1)];
  await using raw = startRaw(({ path }) =>
    path === '/late'
      ? late.promise.then(() => ({ status: 200, headers: {}, body: unwanted.body }))
      : { status: 200, headers: {}, body: endless.body },
  );
  const [leaving, gone] = [await talk(raw.port), await talk(raw.port)];
  leaving.say(`${get('/')}\r\n`);
  await leaving.until('aaa');
  leaving.socket.resetAndDestroy();
  gone.say(`${get('/late')}\r\n`);
  await raw.reached(2);
  gone.socket.resetAndDestroy();
  await untilTrue(() => endless.seen.isCancelled);
  late.resolve();
  await untilTrue(() => unwanted.seen.isCancelled);
});

for (const kind of ['bytes', 'stream'] as const) {
  test(`20 MiB of ${kind} reach a slow reader whole, without being copied for it`, async () => {
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
    // The same bytes for all of them, which are counted for each.
    await using raw = startRaw(answer, { limits: { queuedBytesMax: 8 * size } });
    const readers = Array.from({ length: 8 }, () => connect(raw.port, '127.0.0.1').pause());
    const before = process.memoryUsage().rss;
    const asking = kind === 'bytes' ? readers : readers.slice(0, 1);
    for (const reader of asking) reader.write(`${get('/')}${close}`);
    await raw.reached(asking.length);
    await untilStill(() => process.memoryUsage().rss >> 20);
    // In the system's buffers there is room for some; the process holds none of it a second time.
    expect(process.memoryUsage().rss - before).toBeLessThan(size);
    if (kind === 'stream') expect(streamed.seen.pulled).toBeLessThan(size / piece);
    for (const reader of asking) {
      const heard = Buffer.concat(await Array.fromAsync(reader));
      expect(heard.subarray(heard.indexOf('\r\n\r\n') + 4).equals(whole)).toBe(true);
    }
    for (const reader of readers) reader.destroy();
  });
}

async function untilTrue(isSo: () => boolean): Promise<void> {
  while (!isSo()) await Bun.sleep(5);
}
