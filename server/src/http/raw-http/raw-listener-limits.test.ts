import { describe, expect, test } from 'bun:test';
import type { EdgeResponse } from '../edge-request.ts';
import {
  close,
  connectClient,
  exchange,
  get,
  readBody,
  readHeader,
  readStatuses,
  startListener,
  textResponse,
} from './testing.ts';

describe('limits', () => {
  test('idle connections are evicted for a new one', async () => {
    await using raw = startListener(() => textResponse('hello'), { limits: { connectionsMax: 2 } });
    const first = await connectClient(raw.port);
    first.send(`${get('/')}\r\n`);
    await first.until('hello');
    raw.advance(1);
    const second = await connectClient(raw.port);
    second.send('GET /');
    const third = await connectClient(raw.port);
    third.send(`${get('/')}\r\n`);
    await third.until('hello');
    expect(readStatuses(await first.closed())).toEqual(['200']);
    expect(second.socket.readyState).toBe('open');
    expect(raw.logged.join()).toContain('connection limit reached');
  });

  test('a new connection is refused where all others are busy', async () => {
    const slow = Promise.withResolvers<EdgeResponse>();
    await using raw = startListener(() => slow.promise, { limits: { connectionsMax: 1 } });
    const busy = await connectClient(raw.port);
    busy.send(`${get('/')}\r\n`);
    await raw.waitForRequests(1);
    expect(await exchange(raw.port, `${get('/')}\r\n`)).toBe('');
    slow.resolve(textResponse('late'));
    await busy.until('late');
    // The connection is idle now; evictions run once a second.
    raw.advance(1);
    expect(readStatuses(await exchange(raw.port, `${get('/')}${close}`))).toEqual(['200']);
  });

  test('connections of one address are refused, unless it is a trusted proxy', async () => {
    const slow = Promise.withResolvers<EdgeResponse>();
    const limits = { perAddressMax: 1 };
    const heardWith = async (trusted: boolean) => {
      await using raw = startListener(
        ({ path }) => (path === '/slow' ? slow.promise : textResponse('hello')),
        {
          limits,
          trusted,
        },
      );
      const busy = await connectClient(raw.port);
      busy.send(`${get('/slow')}\r\n`);
      await raw.waitForRequests(1);
      return readStatuses(await exchange(raw.port, `${get('/')}${close}`));
    };
    expect(await heardWith(false)).toEqual([]);
    expect(await heardWith(true)).toEqual(['200']);
  });

  test('above the limit of pending responses, only cached responses are sent', async () => {
    const slow = Promise.withResolvers<EdgeResponse>();
    let isCancelled = false;
    const body = new ReadableStream<Uint8Array>({
      cancel() {
        isCancelled = true;
      },
    });
    const late = Promise.resolve({ status: 200, headers: {}, body });
    await using raw = startListener(
      ({ path }) => ({ '/slow': slow.promise, '/late': late })[path] ?? textResponse('hello'),
      { limits: { pendingResponsesMax: 1 } },
    );
    const busy = await connectClient(raw.port);
    busy.send(`${get('/slow')}\r\n`);
    await raw.waitForRequests(1);
    const refused = await exchange(raw.port, `${get('/late')}\r\n`);
    expect([...readStatuses(refused), JSON.parse(readBody(refused)).code]).toEqual(['503', 'unavailable']);
    expect(isCancelled).toBe(true);
    expect(readStatuses(await exchange(raw.port, `${get('/')}${close}`))).toEqual(['200']);
    slow.resolve(textResponse('late'));
    await busy.until('late');
    busy.send(`${get('/slow')}${close}`);
    expect(readStatuses(await busy.closed())).toEqual(['200', '200']);
  });
});

test('above the limit of unread bytes, the longest stalled connection is closed first', async () => {
  const body = Buffer.alloc(16 << 20);
  await using raw = startListener(() => ({ ...textResponse(''), body }), {
    limits: { queuedBytesMax: 40 << 20 },
  });
  const deaf: Awaited<ReturnType<typeof connectClient>>[] = [];
  for (let at = 0; at < 4; at++) {
    const client = await connectClient(raw.port);
    client.socket.pause();
    client.send(`${get('/')}\r\n`);
    await raw.waitForRequests(at + 1);
    raw.advance(1);
    deaf.push(client);
  }
  const isComplete = async ({ socket, ...client }: (typeof deaf)[number]) => {
    socket.resume();
    if (socket.readyState === 'open') socket.end();
    return (await client.closed()).length > body.length;
  };
  const [first, , , last] = deaf as [(typeof deaf)[0], unknown, unknown, (typeof deaf)[0]];
  expect([await isComplete(first), await isComplete(last)]).toEqual([false, true]);
});

describe('timeouts', () => {
  test('a head that is incomplete after ten seconds is refused', async () => {
    await using raw = startListener(() => textResponse('hello'));
    const client = await connectClient(raw.port);
    client.send(`${get('/')}\r\nGET /`);
    await client.until('hello');
    for (let second = 0; second < 9; second++) {
      raw.advance(1);
      client.send('a');
      // The byte has been read once another exchange is complete.
      await exchange(raw.port, `${get('/')}${close}`);
    }
    expect(client.socket.readyState).toBe('open');
    raw.advance(1);
    expect(readStatuses(await client.closed())).toEqual(['200', '408']);
  });

  test('an idle connection is closed after 72 seconds, or after ten before its first request', async () => {
    await using raw = startListener(() => textResponse('hello'));
    const [fresh, used] = [await connectClient(raw.port), await connectClient(raw.port)];
    used.send(`${get('/')}\r\n`);
    await used.until('hello');
    raw.advance(10);
    expect(await fresh.closed()).toBe('');
    raw.advance(61);
    used.send(`${get('/')}\r\n`);
    await raw.waitForRequests(2);
    raw.advance(71);
    expect(used.socket.readyState).toBe('open');
    raw.advance(1);
    expect(readStatuses(await used.closed())).toEqual(['200', '200']);
  });

  test('a client that reads nothing is disconnected, and so is one whose response never comes', async () => {
    await using raw = startListener(({ path }) =>
      path === '/never'
        ? new Promise<never>(() => {})
        : { ...textResponse(''), body: Buffer.alloc(32 << 20) },
    );
    const [deaf, waiting] = [await connectClient(raw.port), await connectClient(raw.port)];
    deaf.socket.pause();
    deaf.send(`${get('/')}\r\n`);
    waiting.send(`${get('/never')}\r\n`);
    await raw.waitForRequests(2);
    raw.advance(46);
    expect(await waiting.closed()).toBe('');
    deaf.socket.resume();
    expect((await deaf.closed()).length).toBeLessThan(32 << 20);
  });
});

describe('stop', () => {
  test('waits for open requests, sends Connection: close and accepts no connection', async () => {
    const slow = Promise.withResolvers<void>();
    const raw = startListener(() => slow.promise.then(() => textResponse('late')));
    const [busy, idle] = [await connectClient(raw.port), await connectClient(raw.port)];
    busy.send(`${get('/')}\r\n`);
    await raw.waitForRequests(1);
    const stopped = raw.stop(30_000);
    await expect(fetch(`http://127.0.0.1:${raw.port}/`)).rejects.toThrow();
    slow.resolve();
    const received = await busy.closed();
    expect(readBody(received)).toBe('late');
    expect(readHeader(received, 'connection')).toBe('close');
    await stopped;
    expect(await idle.closed()).toBe('');
  });

  test('waits at most graceMs', async () => {
    const raw = startListener(() => new Promise<never>(() => {}));
    const busy = await connectClient(raw.port);
    busy.send(`${get('/')}\r\n`);
    await raw.waitForRequests(1);
    await raw.stop(50);
    expect(await busy.closed()).toBe('');
  });
});
