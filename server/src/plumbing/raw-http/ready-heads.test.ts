import { expect, test } from 'bun:test';
import { type Clock, startClock } from './clock.ts';
import { createReadyHeads } from './ready-heads.ts';

function clockAt(second: number, date: string): Clock {
  return { second, date: Buffer.from(date), nextId: () => Buffer.alloc(36), stop() {} };
}

const early = 'Sun, 06 Nov 1994 08:49:37 GMT';
const late = 'Mon, 07 Nov 1994 08:49:37 GMT';

test('a head is made once for headers that can not change, and its date goes on', () => {
  const clock = { ...clockAt(0, early) };
  const heads = createReadyHeads(clock);
  const answer = { status: 200, headers: Object.freeze({ etag: '"a"' }), body: null };
  const first = heads.of(answer, 3);
  expect(first.toString()).toBe(
    `HTTP/1.1 200 OK\r\netag: "a"\r\ncontent-length: 3\r\ndate: ${early}\r\nx-request-id: `,
  );
  Object.assign(clock, clockAt(1, late));
  expect(heads.of(answer, 3)).toBe(first);
  expect(first.toString()).toContain(`date: ${late}\r\n`);
});

test('status and length are never those of another answer with the same headers', () => {
  const heads = createReadyHeads(clockAt(0, early));
  const headers = Object.freeze({ etag: '"a"' });
  for (let round = 0; round < 2; round++) {
    for (const status of [200, 206, 304, 404, 412]) {
      for (const framing of [3, 4, 'chunks', 'nothing'] as const) {
        const text = heads.of({ status, headers, body: null }, framing).toString();
        expect(text).toStartWith(`HTTP/1.1 ${status} `);
        expect(/content-length: (\d)/.exec(text)?.[1]).toBe(
          typeof framing === 'number' ? String(framing) : undefined,
        );
        expect(text.includes('chunked')).toBe(framing === 'chunks');
      }
    }
  }
});

test('headers that can change are read each time', () => {
  const heads = createReadyHeads(clockAt(0, early));
  const headers: Record<string, string> = { etag: '"a"' };
  heads.of({ status: 200, headers, body: null }, 0);
  headers.etag = '"b"';
  expect(heads.of({ status: 200, headers, body: null }, 0).toString()).toContain('etag: "b"');
});

test('ids are all different and of the form that clients know', () => {
  const clock = startClock(() => {});
  const ids = new Set(Array.from({ length: 100_000 }, () => clock.nextId().toString('latin1')));
  clock.stop();
  expect(ids.size).toBe(100_000);
  expect([...ids].every((id) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id))).toBe(true);
});
