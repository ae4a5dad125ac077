import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { EdgeAnswer } from '../edge-request.ts';
import { fail } from '../problem.ts';
import { get, sayAll, siteHost, startRaw, talk, textAnswer, untilStill } from './testing.ts';

const close = 'Connection: close\r\n\r\n';
const bodyOf = (answer: string) => answer.slice(answer.indexOf('\r\n\r\n') + 4);
const headerOf = (answer: string, name: string) =>
  new RegExp(`^${name}: (.*)\r$`, 'im').exec(answer.slice(0, answer.indexOf('\r\n\r\n') + 2))?.[1];
/** As many answers as there are in what was heard, by their first lines. */
const statusesOf = (heard: string) => [...heard.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, code]) => code);

test('an answer has its headers, length, date and a request id of its own', async () => {
  await using raw = startRaw(() => textAnswer('hello', { etag: '"1"' }));
  const heard = await sayAll(raw.port, `${get('/')}\r\n${get('/')}${close}`);
  const second = heard.slice(heard.indexOf('hello') + 5);
  expect(heard).toStartWith('HTTP/1.1 200 OK\r\n');
  expect(headerOf(heard, 'content-type')).toBe('text/plain');
  expect(headerOf(heard, 'etag')).toBe('"1"');
  expect(headerOf(heard, 'content-length')).toBe('5');
  expect(headerOf(heard, 'date')).toMatch(/^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/);
  expect(headerOf(heard, 'connection')).toBeUndefined();
  expect(headerOf(second, 'connection')).toBe('close');
  expect(bodyOf(second)).toBe('hello');
  const ids = [heard, second].map((answer) => headerOf(answer, 'x-request-id'));
  for (const id of ids)
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(ids[0]).not.toBe(ids[1]);
});

test('a well-formed request id is kept, another is not', async () => {
  await using raw = startRaw(() => textAnswer('hello'));
  const idFor = async (id: string) =>
    headerOf(await sayAll(raw.port, `${get('/')}X-Request-Id: ${id}\r\n${close}`), 'x-request-id');
  expect(await idFor('mine.1_2-3')).toBe('mine.1_2-3');
  expect(await idFor('m'.repeat(128))).toBe('m'.repeat(128));
  expect(await idFor('two words')).toMatch(/^[0-9a-f-]{36}$/);
  expect(await idFor('m'.repeat(129))).toMatch(/^[0-9a-f-]{36}$/);
});

test('whoever answers can have the request id, for the body', async () => {
  await using raw = startRaw((request) => textAnswer(`${request.requestId()} ${request.requestId()}`));
  for (const sent of ['mine-1', 'two words']) {
    const heard = await sayAll(raw.port, `${get('/')}X-Request-Id: ${sent}\r\n${close}`);
    const id = headerOf(heard, 'x-request-id');
    expect(bodyOf(heard)).toBe(`${id} ${id}`);
  }
});

test('HEAD, 204 and 304 have no body, whatever the answer brings', async () => {
  const status = (request: { path: string }) => Number(request.path.slice(1));
  await using raw = startRaw((request) => ({ ...textAnswer('hello'), status: status(request) }));
  const heard = await sayAll(
    raw.port,
    `HEAD /200 HTTP/1.1\r\nHost: ${siteHost}\r\n\r\n${get('/304')}\r\n${get('/204')}\r\n${get('/404')}${close}`,
  );
  expect(statusesOf(heard)).toEqual(['200', '304', '204', '404']);
  const [head = '', unchanged = '', none = '', found = ''] = heard.split(/(?=HTTP\/1\.1 )/);
  expect([head, unchanged, none, found].map(bodyOf)).toEqual(['', '', '', 'hello']);
  expect(headerOf(head, 'content-length')).toBe('5');
  expect(headerOf(unchanged, 'content-length')).toBeUndefined();
  expect(headerOf(none, 'content-length')).toBeUndefined();
});

test('the length sent is that of the body, whatever the headers say', async () => {
  await using raw = startRaw((request) =>
    request.path === '/empty'
      ? { status: 200, headers: { 'content-length': '7' }, body: null }
      : textAnswer('hello', { 'content-length': '1' }),
  );
  const heard = await sayAll(raw.port, `${get('/empty')}\r\n${get('/')}${close}`);
  expect(heard).toContain('content-length: 0\r\n');
  expect(heard).toContain('content-length: 5\r\n');
  expect(heard).not.toMatch(/content-length: [17]\r/);
});

test('a head that comes byte by byte is answered once', async () => {
  await using raw = startRaw(({ path }) => textAnswer(`this is ${path}`));
  const talking = await talk(raw.port);
  talking.socket.setNoDelay(true);
  for (const byte of `${get('/slow')}Cookie: a=b\r\n${close}`) {
    talking.say(byte);
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  const heard = await talking.closed();
  expect(statusesOf(heard)).toEqual(['200']);
  expect(bodyOf(heard)).toBe('this is /slow');
  expect(raw.asked.length).toBe(1);
});

describe('requests sent ahead', () => {
  test('are answered in order, those at once and those that wait', async () => {
    const slow = Promise.withResolvers<void>();
    await using raw = startRaw(({ path }) =>
      path.startsWith('/slow') ? slow.promise.then(() => textAnswer(path)) : textAnswer(path),
    );
    const talking = await talk(raw.port);
    const paths = ['/1', '/slow2', '/3', '/slow4', '/slow5', '/6'];
    talking.say(paths.map((path) => `${get(path)}\r\n`).join(''));
    await talking.until('/1');
    // The rest waits for the second.
    expect(raw.asked.map(({ path }) => path)).toEqual(['/1', '/slow2']);
    talking.say(`${get('/7')}${close}`);
    slow.resolve();
    const heard = await talking.closed();
    expect([...heard.matchAll(/\r\n\r\n(\/(?:slow)?\d)/g)].map(([, path]) => path)).toEqual([...paths, '/7']);
  });

  test('by thousands all have their answer, also when nobody reads for a while', async () => {
    const body = 'x'.repeat(8_000);
    await using raw = startRaw(() => textAnswer(body));
    const talking = await talk(raw.port);
    talking.socket.pause();
    const count = 5_000;
    talking.say(`${get('/')}\r\n`.repeat(count - 1));
    talking.say(`${get('/')}${close}`);
    // More than both sides' buffers hold: the listener has to wait with the rest.
    await untilStill(() => raw.asked.length);
    expect(raw.asked.length).toBeLessThan(count);
    talking.socket.resume();
    const heard = await talking.closed();
    expect(raw.asked.length).toBe(count);
    expect(statusesOf(heard).length).toBe(count);
  });

  test('while an answer is waited for are read only up to a limit', async () => {
    const slow = Promise.withResolvers<EdgeAnswer>();
    await using raw = startRaw(() => slow.promise);
    const talking = await talk(raw.port);
    const more = `${get('/')}\r\n`.repeat(400_000);
    talking.say(`${get('/')}\r\n`);
    talking.say(more);
    await untilStill(() => talking.socket.bytesWritten - talking.socket.writableLength);
    expect(talking.socket.writableLength).toBeGreaterThan(0);
    expect(raw.asked.length).toBe(1);
    talking.socket.destroy();
    slow.resolve(textAnswer('late'));
  });

  test('behind one that is refused are not answered', async () => {
    await using raw = startRaw(() => textAnswer('hello'));
    const heard = await sayAll(raw.port, `${get('/')}\r\nGET / HTTP/1.1\r\nHost : x\r\n\r\n${get('/')}\r\n`);
    expect(statusesOf(heard)).toEqual(['200', '400']);
    expect(raw.asked.length).toBe(1);
  });

  test('behind the last one are not answered', async () => {
    await using raw = startRaw(() => textAnswer('hello'));
    expect(statusesOf(await sayAll(raw.port, `${get('/')}${close}${get('/')}\r\n`))).toEqual(['200']);
    expect(statusesOf(await sayAll(raw.port, `${get('/', '1.0')}\r\n${get('/')}\r\n`))).toEqual(['200']);
  });
});

test('a refusal says what is wrong, with a request id, and closes', async () => {
  await using raw = startRaw(() => textAnswer('hello'));
  const heard = await sayAll(raw.port, 'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n');
  expect(statusesOf(heard)).toEqual(['400']);
  expect(headerOf(heard, 'connection')).toBe('close');
  expect(headerOf(heard, 'content-type')).toBe('application/problem+json');
  expect(headerOf(heard, 'x-content-type-options')).toBe('nosniff');
  expect(JSON.parse(bodyOf(heard))).toMatchObject({
    code: 'validation_failed',
    request_id: headerOf(heard, 'x-request-id'),
  });
  expect(statusesOf(await sayAll(raw.port, `GET /${'a'.repeat(9_000)}`))).toEqual(['414']);
});

test('a fault is logged with the id that the client is told, and nothing else of it is', async () => {
  await using raw = startRaw(({ path }) => {
    if (path === '/throws') throw new Error('secret');
    if (path === '/header') return textAnswer('hello', { 'x-a': 'b\r\nset-cookie: c=d' });
    if (path === '/wide') return textAnswer('hello', { 'x-a': '\u010a\u010aa' });
    if (path === '/busy') return Promise.reject(fail('unavailable'));
    return Promise.reject(new Error('secret'));
  });
  for (const path of ['/throws', '/rejects', '/header', '/wide']) {
    const heard = await sayAll(raw.port, `${get(path)}\r\n`);
    expect([path, ...statusesOf(heard)]).toEqual([path, '500']);
    expect(heard).not.toMatch(/secret|set-cookie/);
    const id = headerOf(heard, 'x-request-id') ?? 'none';
    expect(JSON.parse(bodyOf(heard)).request_id).toBe(id);
    expect(raw.logged.some((line) => line.includes(id) && line.includes('"error"'))).toBe(true);
  }
  expect(statusesOf(await sayAll(raw.port, `${get('/busy')}\r\n`))).toEqual(['503']);
});

test('a client that has said all and closed its side is still answered', async () => {
  const slow = Promise.withResolvers<void>();
  await using raw = startRaw(() => slow.promise.then(() => textAnswer('late')));
  const talking = await talk(raw.port);
  talking.socket.end(`${get('/')}\r\n${get('/')}\r\n`);
  await raw.reached(1);
  slow.resolve();
  expect(statusesOf(await talking.closed())).toEqual(['200', '200']);
});

test('the scheme is that in front of a proxy, where the proxy is trusted', async () => {
  const schemeAt = async (options: { trusted: boolean }) => {
    await using raw = startRaw(({ scheme }) => textAnswer(scheme), options);
    return bodyOf(await sayAll(raw.port, `${get('/')}X-Forwarded-Proto: HTTPS\r\n${close}`));
  };
  expect(await schemeAt({ trusted: true })).toBe('https');
  expect(await schemeAt({ trusted: false })).toBe('http');
});

test('whatever comes, and however it is cut, each request has one answer and nothing else has', async () => {
  await using raw = startRaw(({ path }) =>
    path.length % 2 === 0 ? textAnswer('now') : Promise.resolve(textAnswer('soon')),
  );
  const path = fc.stringMatching(/^\/[a-z]{0,8}$/);
  const right = path.map((text) => `${get(text)}Accept: */*\r\n\r\n`);
  const wrong = fc.oneof(
    fc.constantFrom(
      'GET / HTTP/1.1\r\n',
      '\r\n\r\n',
      'POST / HTTP/1.1\r\nHost: a\r\n\r\nGET / ',
      '\0',
      'G',
      ' ',
    ),
    fc.string({ unit: 'binary-ascii', maxLength: 30 }),
  );
  const piece = fc.oneof({ arbitrary: right, weight: 4 }, { arbitrary: wrong, weight: 1 });
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 12 }), fc.array(fc.nat(40)), async (pieces, cuts) => {
      const before = raw.asked.length;
      const talking = await talk(raw.port);
      talking.socket.setNoDelay(true);
      let text = pieces.join('');
      for (const cut of cuts) {
        talking.say(text.slice(0, cut));
        text = text.slice(cut);
        await new Promise<void>((resolve) => setImmediate(resolve));
      }
      talking.socket.end(text);
      const statuses = statusesOf(await talking.closed());
      const asked = raw.asked.length - before;
      const firstWrong = pieces.findIndex((item) => !/^GET \S+ HTTP\/1\.1\r\n.*\r\n\r\n$/s.test(item));
      expect(asked).toBeGreaterThanOrEqual(firstWrong < 0 ? pieces.length : firstWrong);
      expect(statuses.slice(0, asked)).toEqual(Array.from({ length: asked }, () => '200'));
      // At most one more: what could not be understood, is not done, or had nobody to be handed over to.
      expect(['', '400', '405', '503']).toContain(statuses.slice(asked).join());
    }),
    { numRuns: 500 },
  );
}, 60_000);

describe('too many', () => {
  test('connections that ask for nothing make room for one that does', async () => {
    await using raw = startRaw(() => textAnswer('hello'), { limits: { connectionsMax: 2 } });
    const first = await talk(raw.port);
    first.say(`${get('/')}\r\n`);
    await first.until('hello');
    raw.pass(1);
    const second = await talk(raw.port);
    second.say('GET /');
    const third = await talk(raw.port);
    third.say(`${get('/')}\r\n`);
    await third.until('hello');
    expect(statusesOf(await first.closed())).toEqual(['200']);
    expect(second.socket.readyState).toBe('open');
    expect(raw.logged.join()).toContain('too many connections');
  });

  test('connections that are all waited for are kept, and one more is not taken', async () => {
    const slow = Promise.withResolvers<EdgeAnswer>();
    await using raw = startRaw(() => slow.promise, { limits: { connectionsMax: 1 } });
    const busy = await talk(raw.port);
    busy.say(`${get('/')}\r\n`);
    await raw.reached(1);
    expect(await sayAll(raw.port, `${get('/')}\r\n`)).toBe('');
    slow.resolve(textAnswer('late'));
    await busy.until('late');
    // Idle now; looked for once a second.
    raw.pass(1);
    expect(statusesOf(await sayAll(raw.port, `${get('/')}${close}`))).toEqual(['200']);
  });

  test('of one address are refused, where it is no proxy that is trusted', async () => {
    const slow = Promise.withResolvers<EdgeAnswer>();
    const limits = { perAddressMax: 1 };
    const heardWith = async (trusted: boolean) => {
      await using raw = startRaw(({ path }) => (path === '/slow' ? slow.promise : textAnswer('hello')), {
        ...{ limits, trusted },
      });
      const busy = await talk(raw.port);
      busy.say(`${get('/slow')}\r\n`);
      await raw.reached(1);
      return statusesOf(await sayAll(raw.port, `${get('/')}${close}`));
    };
    expect(await heardWith(false)).toEqual([]);
    expect(await heardWith(true)).toEqual(['200']);
  });

  test('answers that are waited for: who would wait as well is refused, and what is at hand is answered', async () => {
    const slow = Promise.withResolvers<EdgeAnswer>();
    let isCancelled = false;
    const body = new ReadableStream<Uint8Array>({
      cancel() {
        isCancelled = true;
      },
    });
    const late = Promise.resolve({ status: 200, headers: {}, body });
    await using raw = startRaw(
      ({ path }) => ({ '/slow': slow.promise, '/late': late })[path] ?? textAnswer('hello'),
      { limits: { waitingMax: 1 } },
    );
    const busy = await talk(raw.port);
    busy.say(`${get('/slow')}\r\n`);
    await raw.reached(1);
    const refused = await sayAll(raw.port, `${get('/late')}\r\n`);
    expect([...statusesOf(refused), JSON.parse(bodyOf(refused)).code]).toEqual(['503', 'unavailable']);
    expect(isCancelled).toBe(true);
    expect(statusesOf(await sayAll(raw.port, `${get('/')}${close}`))).toEqual(['200']);
    slow.resolve(textAnswer('late'));
    await busy.until('late');
    busy.say(`${get('/slow')}${close}`);
    expect(statusesOf(await busy.closed())).toEqual(['200', '200']);
  });
});

test('what slow clients do not take is bounded: who took nothing for the longest time goes first', async () => {
  const body = Buffer.alloc(16 << 20);
  await using raw = startRaw(() => ({ ...textAnswer(''), body }), { limits: { queuedBytesMax: 40 << 20 } });
  const deaf: Awaited<ReturnType<typeof talk>>[] = [];
  for (let at = 0; at < 4; at++) {
    const talking = await talk(raw.port);
    talking.socket.pause();
    talking.say(`${get('/')}\r\n`);
    await raw.reached(at + 1);
    raw.pass(1);
    deaf.push(talking);
  }
  const isWhole = async ({ socket, ...talking }: (typeof deaf)[number]) => {
    socket.resume();
    if (socket.readyState === 'open') socket.end();
    return (await talking.closed()).length > body.length;
  };
  const [first, , , last] = deaf as [(typeof deaf)[0], unknown, unknown, (typeof deaf)[0]];
  expect([await isWhole(first), await isWhole(last)]).toEqual([false, true]);
});

describe('in time', () => {
  test('a head that does not become whole in ten seconds is given up, however it dribbles', async () => {
    await using raw = startRaw(() => textAnswer('hello'));
    const talking = await talk(raw.port);
    talking.say(`${get('/')}\r\nGET /`);
    await talking.until('hello');
    for (let second = 0; second < 9; second++) {
      raw.pass(1);
      talking.say('a');
      // By when that has been read.
      await sayAll(raw.port, `${get('/')}${close}`);
    }
    expect(talking.socket.readyState).toBe('open');
    raw.pass(1);
    expect(statusesOf(await talking.closed())).toEqual(['200', '408']);
  });

  test('a connection without a request is kept for 72 seconds after one, for ten before', async () => {
    await using raw = startRaw(() => textAnswer('hello'));
    const [fresh, used] = [await talk(raw.port), await talk(raw.port)];
    used.say(`${get('/')}\r\n`);
    await used.until('hello');
    raw.pass(10);
    expect(await fresh.closed()).toBe('');
    raw.pass(61);
    used.say(`${get('/')}\r\n`);
    await raw.reached(2);
    raw.pass(71);
    expect(used.socket.readyState).toBe('open');
    raw.pass(1);
    expect(statusesOf(await used.closed())).toEqual(['200', '200']);
  });

  test('a client that takes nothing any more is cut, and so is an answer that never comes', async () => {
    await using raw = startRaw(({ path }) =>
      path === '/never' ? new Promise<never>(() => {}) : { ...textAnswer(''), body: Buffer.alloc(32 << 20) },
    );
    const [deaf, waiting] = [await talk(raw.port), await talk(raw.port)];
    deaf.socket.pause();
    deaf.say(`${get('/')}\r\n`);
    waiting.say(`${get('/never')}\r\n`);
    await raw.reached(2);
    raw.pass(46);
    expect(await waiting.closed()).toBe('');
    deaf.socket.resume();
    expect((await deaf.closed()).length).toBeLessThan(32 << 20);
  });
});

describe('asked to stop', () => {
  test('it lets what is under way end, says that it was the last, and takes nobody new', async () => {
    const slow = Promise.withResolvers<void>();
    const raw = startRaw(() => slow.promise.then(() => textAnswer('late')));
    const [busy, idle] = [await talk(raw.port), await talk(raw.port)];
    busy.say(`${get('/')}\r\n`);
    await raw.reached(1);
    const stopped = raw.stop(30_000);
    await expect(fetch(`http://127.0.0.1:${raw.port}/`)).rejects.toThrow();
    slow.resolve();
    const heard = await busy.closed();
    expect(bodyOf(heard)).toBe('late');
    expect(headerOf(heard, 'connection')).toBe('close');
    await stopped;
    expect(await idle.closed()).toBe('');
  });

  test('it waits no longer than it is given', async () => {
    const raw = startRaw(() => new Promise<never>(() => {}));
    const busy = await talk(raw.port);
    busy.say(`${get('/')}\r\n`);
    await raw.reached(1);
    await raw.stop(50);
    expect(await busy.closed()).toBe('');
  });
});
