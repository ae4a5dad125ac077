import { expect, test } from 'bun:test';
import { connect } from 'node:net';
import { Failure } from '../core/problem.ts';
import { codeOf } from '../testing.ts';
import { createByteBudget, readBody, readJson } from './read-body.ts';

const request = (body: BodyInit | null, type = 'application/json') =>
  new Request('http://localhost/', { method: 'POST', body, headers: { 'content-type': type } });

test('a body that arrives too slowly is refused', async () => {
  const endless = new ReadableStream({ start: (stream) => stream.enqueue(new Uint8Array([123])) });
  expect(await codeOf(readBody(request(endless), { bytesMax: 100, msMax: 30 }))).toBe('request_timeout');
});

test('a body above its limit is refused, with or without Content-Length', async () => {
  expect(await codeOf(readBody(request('x'.repeat(101)), { bytesMax: 100 }))).toBe('payload_too_large');
  const stream = new Blob(['x'.repeat(101)]).stream();
  expect(await codeOf(readBody(request(stream), { bytesMax: 100 }))).toBe('payload_too_large');
  expect((await readBody(request('x'.repeat(100)), { bytesMax: 100 })).byteLength).toBe(100);
});

test('only the exact content type is accepted', async () => {
  for (const good of [
    'application/json',
    'application/json; charset=utf-8',
    'application/json;charset=UTF-8',
  ]) {
    expect(await readJson(request('{}', good), 10)).toEqual({});
  }
  for (const bad of [
    'text/json',
    'application/json; a=b',
    'application/jsonx',
    'application/json;charset=latin1',
  ]) {
    expect([bad, await codeOf(readJson(request('{}', bad), 10))]).toEqual([bad, 'unsupported_media_type']);
  }
});

test('a compressed body is refused', async () => {
  const compressed = new Request('http://localhost/', {
    method: 'POST',
    body: '{}',
    headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
  });
  expect(await codeOf(readJson(compressed, 10))).toBe('unsupported_media_type');
});

test('a body that is not one JSON text in UTF-8 is malformed', async () => {
  for (const bad of ['{', '{} {}', 'NaN', new Uint8Array([0x22, 0xff, 0x22])]) {
    expect(await codeOf(readJson(request(bad), 100))).toBe('malformed_json');
  }
  expect(await readJson(request(null), 10)).toBeUndefined();
});

test('a client that disconnects during its body is not an internal error', async () => {
  const seen = Promise.withResolvers<unknown>();
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: async (request) => {
      await readBody(request, { bytesMax: 1000 }).catch(seen.resolve);
      return new Response();
    },
  });
  const socket = connect(server.port ?? 0, '127.0.0.1', () => {
    socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nabc', () => socket.destroy());
  });
  expect(await seen.promise).toMatchObject({ code: 'request_timeout' });
  await server.stop(true);
});

const promiseState = async (promise: Promise<unknown>) => {
  let state = 'waits';
  promise.then(
    () => {
      state = 'proceeds';
    },
    () => {
      state = 'refused';
    },
  );
  for (let i = 0; i < 5; i++) await Promise.resolve();
  return state;
};

test('a request above the budget waits until another ends', async () => {
  const budget = createByteBudget({ bytesMax: 100, waitMsMax: 10_000 });
  const [first, second] = [budget.open('a'), budget.open('b')];
  await first.reserve(60);
  const more = second.reserve(50);
  expect(await promiseState(more)).toBe('waits');
  first.close();
  expect(await promiseState(more)).toBe('proceeds');
});

test('the oldest request always proceeds', async () => {
  const budget = createByteBudget({ bytesMax: 100, waitMsMax: 10_000 });
  const [first, second] = [budget.open('a'), budget.open('b')];
  await second.reserve(90);
  expect(await promiseState(first.reserve(50))).toBe('proceeds');
  const more = second.reserve(20);
  expect(await promiseState(more)).toBe('waits');
  first.close();
  expect(await promiseState(more)).toBe('proceeds');
});

test('a request that has reserved little delays nobody', async () => {
  const budget = createByteBudget({ bytesMax: 100, waitMsMax: 10_000 });
  await budget.open('a').reserve(1);
  for (let i = 0; i < 50; i++) {
    const account = budget.open('b');
    await account.reserve(80);
    account.close();
  }
});

test('one owner gets at most half of the budget', async () => {
  const budget = createByteBudget({ bytesMax: 100, waitMsMax: 10_000 });
  await budget.open('a').reserve(40);
  const more = budget.open('a').reserve(20);
  expect(await promiseState(more)).toBe('waits');
  expect(await promiseState(budget.open('b').reserve(50))).toBe('proceeds');
});

test('a request that waits too long is refused as unavailable', async () => {
  const budget = createByteBudget({ bytesMax: 100, waitMsMax: 10 });
  await budget.open('a').reserve(100);
  const refusal = await budget
    .open('b')
    .reserve(1)
    .catch((error: unknown) => error);
  expect((refusal as Failure).code).toBe('unavailable');
  expect(refusal).toBeInstanceOf(Failure);
});
