import { expect, test } from 'bun:test';
import { type Clock, createResponseHeads, startClock } from './response-heads.ts';

function clockAt(second: number, date: string): Clock {
  return {
    second,
    date: Buffer.from(date),
    dateText: date,
    nextRequestId: () => Buffer.alloc(36),
    stop() {},
  };
}

const early = 'Sun, 06 Nov 1994 08:49:37 GMT';
const late = 'Mon, 07 Nov 1994 08:49:37 GMT';

test('the head of frozen headers is rendered once, and its date is updated', () => {
  const clock = { ...clockAt(0, early) };
  const heads = createResponseHeads(clock);
  const answer = { status: 200, headers: Object.freeze({ etag: '"a"' }), body: null };
  const first = heads.get(answer, 3);
  expect(first.toString()).toBe(
    `HTTP/1.1 200 OK\r\netag: "a"\r\ncontent-length: 3\r\ndate: ${early}\r\nx-request-id: `,
  );
  Object.assign(clock, clockAt(1, late));
  expect(heads.get(answer, 3)).toBe(first);
  expect(first.toString()).toContain(`date: ${late}\r\n`);
});

test('status and length are never taken from another response with the same headers', () => {
  const heads = createResponseHeads(clockAt(0, early));
  const headers = Object.freeze({ etag: '"a"' });
  for (let round = 0; round < 2; round++) {
    for (const status of [200, 206, 304, 404, 412]) {
      for (const framing of [3, 4, 'chunks', 'nothing'] as const) {
        const text = heads.get({ status, headers, body: null }, framing).toString();
        expect(text).toStartWith(`HTTP/1.1 ${status} `);
        expect(/content-length: (\d)/.exec(text)?.[1]).toBe(
          typeof framing === 'number' ? String(framing) : undefined,
        );
        expect(text.includes('chunked')).toBe(framing === 'chunks');
      }
    }
  }
});

test('headers that are not frozen are rendered each time', () => {
  const heads = createResponseHeads(clockAt(0, early));
  const headers: Record<string, string> = { etag: '"a"' };
  heads.get({ status: 200, headers, body: null }, 0);
  headers.etag = '"b"';
  expect(heads.get({ status: 200, headers, body: null }, 0).toString()).toContain('etag: "b"');
});

test('a header with a line break or a wrong name is refused, also after others of its name were sent', () => {
  const heads = createResponseHeads(clockAt(0, early));
  const get = (headers: Record<string, string>) => heads.get({ status: 200, headers, body: null }, 0);
  expect(get({ 'content-type': 'a' })).toBe(get({ 'content-type': 'a' }));
  expect(() => get({ 'content-type': 'a\r\nset-cookie: b' })).toThrow('invalid response header');
  expect(() => get({ 'link\r\n': 'a' })).toThrow('invalid response header');
  expect(() => get({ 'content-type': 'a\u0100' })).toThrow('invalid response header');
});

test('request ids are unique and have the form of a UUID', () => {
  const clock = startClock(() => {});
  const ids = new Set(Array.from({ length: 100_000 }, () => clock.nextRequestId().toString('latin1')));
  clock.stop();
  expect(ids.size).toBe(100_000);
  expect([...ids].every((id) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id))).toBe(true);
});

test('the header for https only is added where the response has none of its own', () => {
  const heads = createResponseHeads(clockAt(0, early), 'max-age=31536000');
  const get = (headers: Record<string, string>) =>
    heads.get({ status: 200, headers: Object.freeze(headers), body: null }, 3).toString();
  expect(get({ etag: '"a"' })).toContain('\r\nstrict-transport-security: max-age=31536000\r\n');
  expect(get({ 'strict-transport-security': 'max-age=0' }).match(/strict-transport-security: .*/g)).toEqual([
    'strict-transport-security: max-age=0',
  ]);
});
