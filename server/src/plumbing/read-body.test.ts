import { expect, test } from 'bun:test';
import { connect } from 'node:net';
import { codeOf } from '../testing.ts';
import { readBody, readJson } from './read-body.ts';

const request = (body: BodyInit | null, type = 'application/json') =>
  new Request('http://localhost/', { method: 'POST', body, headers: { 'content-type': type } });

test('a body that comes too slowly is refused in time', async () => {
  const endless = new ReadableStream({ start: (stream) => stream.enqueue(new Uint8Array([123])) });
  expect(await codeOf(readBody(request(endless), { bytesMax: 100, msMax: 30 }))).toBe('request_timeout');
});

test('a body past its limit is refused, whether it says its length or not', async () => {
  expect(await codeOf(readBody(request('x'.repeat(101)), { bytesMax: 100 }))).toBe('payload_too_large');
  const stream = new Blob(['x'.repeat(101)]).stream();
  expect(await codeOf(readBody(request(stream), { bytesMax: 100 }))).toBe('payload_too_large');
  expect((await readBody(request('x'.repeat(100)), { bytesMax: 100 })).byteLength).toBe(100);
});

test('only the exact content type is taken', async () => {
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

test('a compressed body is refused rather than read as it is', async () => {
  const compressed = new Request('http://localhost/', {
    method: 'POST',
    body: '{}',
    headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
  });
  expect(await codeOf(readJson(compressed, 10))).toBe('unsupported_media_type');
});

test('what is not one JSON text in UTF-8 is malformed', async () => {
  for (const bad of ['{', '{} {}', 'NaN', new Uint8Array([0x22, 0xff, 0x22])]) {
    expect(await codeOf(readJson(request(bad), 100))).toBe('malformed_json');
  }
  expect(await readJson(request(null), 10)).toBeUndefined();
});

test('a client that goes away in the middle of its body is no fault of the server', async () => {
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
