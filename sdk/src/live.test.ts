import { describe, expect, test } from 'bun:test';
import { createClient } from './main.ts';
import { problem, type Seen, scriptedServer } from './testing.ts';

interface Item {
  id: string;
  title: string;
  price: string;
}

const server = scriptedServer();
const items = () => {
  const { baseUrl } = server;
  return createClient({ baseUrl, tenant: 't', app: 'a', auth: { apiKey: 'k' } }).table<Item>('items');
};

const types = { id: 'text', title: 'text', price: 'decimal(9,2)' };
const row = (id: string, price: string) => ({ id, title: id, price });
const event = (kind: string, data: unknown, id?: string) =>
  `event: ${kind}\n${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`;
const ready = (id: string) => event('ready', { types }, id);

/** A connection whose parts the test sends; `isLeft` when the client has gone. */
function connection() {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  const left = Promise.withResolvers<void>();
  writer.closed.catch(() => left.resolve());
  const opened = Promise.withResolvers<Seen>();
  return {
    answer: (seen: Seen) => {
      opened.resolve(seen);
      return new Response(readable, { headers: { 'content-type': 'text/event-stream' } });
    },
    opened: opened.promise,
    left: left.promise,
    send: (...parts: (string | Uint8Array)[]) => {
      for (const part of parts) void writer.write(Buffer.from(part as string)).catch(() => {});
    },
    end: () => void writer.close().catch(() => {}),
  };
}

const ids = (rows: readonly { id: string }[]) => rows.map(({ id }) => id).join(' ');

describe('live rows', () => {
  test('are in order: numbers of any length, descending, then by id', async () => {
    const feed = connection();
    server.answerWith(feed.answer);
    const live = items().live({ sort: ['-price'] });
    feed.send(event('row', row('a', '9.00')), event('row', row('b', '10.00')));
    feed.send(event('row', row('c', '9007199254740993.10')), event('row', row('d', '9007199254740993.09')));
    feed.send(event('row', row('e', '9.00')), ready('1'));
    await live.ready;
    expect(ids(live.rows)).toBe('c d b e a');
    const before = live.rows;
    const changed = nextChange(live);
    feed.send(event('update', row('a', '11.00'), '2'));
    expect((await changed).changes).toEqual([{ event: 'update', row: row('a', '11.00') }]);
    expect([ids(before), ids(live.rows)]).toEqual(['c d b e a', 'c d a b e']);
    live.close();
  });

  test('show nothing before they are complete, also if an event arrives in pieces', async () => {
    const feed = connection();
    server.answerWith(feed.answer);
    const live = items().live();
    const text = Buffer.from(event('row', { ...row('a', '1.00'), title: 'Tee 😀' }) + ready('1'));
    await feed.opened;
    for (let at = 0; at < text.length - 7; at += 7) feed.send(text.subarray(at, at + 7));
    expect([live.status, live.rows]).toEqual(['connecting', []]);
    feed.send(text.subarray(text.length - (text.length % 7 || 7)));
    await live.ready;
    expect(live.rows).toEqual([{ ...row('a', '1.00'), title: 'Tee 😀' }]);
    live.close();
  });

  test('continue after the last event when the connection is lost, and say nothing about it', async () => {
    const [one, two] = [connection(), connection()];
    server.answerWith(one.answer, () => problem(503, 'unavailable'), two.answer);
    const live = items().live();
    const seen: string[] = [];
    live.on('change', ({ changes, rows }) => seen.push(`${changes.map((c) => c.event)} ${ids(rows)}`));
    one.send(event('row', row('a', '1.00')), ready('p1'), event('insert', row('b', '2.00'), 'p2'));
    one.send(': heartbeat\nid: p3\n\n');
    await live.ready;
    one.end();
    const again = await two.opened;
    expect([again.headers.get('last-event-id'), again.query]).toEqual(['p3', [['_snapshot', 'true']]]);
    expect(live.status).toBe('live');
    const changed = nextChange(live);
    two.send(': resumed\n\n', event('delete', { id: 'a' }, 'p4'), ready('p5'));
    await changed;
    expect(ids(live.rows)).toBe('b');
    expect(seen.join('; ')).toMatch(/delete b$/);
    live.close();
  });

  test('are loaded anew after a reset, and when the first rows were interrupted', async () => {
    const [one, two] = [connection(), connection()];
    server.answerWith(one.answer, two.answer);
    const live = items().live();
    one.send(event('row', row('old', '1.00')));
    await one.opened;
    one.end();
    const again = await two.opened;
    expect(again.headers.has('last-event-id')).toBe(false);
    two.send(event('row', row('a', '1.00')), ready('1'));
    await live.ready;
    expect(ids(live.rows)).toBe('a');
    const changed = nextChange(live);
    two.send(event('reset', {}), event('row', row('z', '1.00')), ready('2'));
    const { changes, rows } = await changed;
    expect([changes, ids(rows)]).toEqual([[], 'z']);
    live.close();
  });

  test('end for good with the error when the right is gone', async () => {
    const one = connection();
    server.answerWith(one.answer, () => problem(404, 'not_found'));
    const live = items().live();
    const closed = Promise.withResolvers<Error | null>();
    live.on('close', closed.resolve);
    one.send(ready('1'));
    await live.ready;
    one.end();
    expect(await closed.promise).toMatchObject({ code: 'not_found' });
    expect(live.status).toBe('closed');
  });

  test('close ends the connection and every loop over the rows, without an error', async () => {
    const one = connection();
    server.answerWith(one.answer);
    const stop = new AbortController();
    const live = items().live({ signal: stop.signal });
    one.send(event('row', row('a', '1.00')), ready('1'));
    const lengths: number[] = [];
    const loop = (async () => {
      for await (const { rows } of live) {
        lengths.push(rows.length);
        stop.abort();
      }
    })();
    await loop;
    await one.left;
    expect([lengths, live.status]).toEqual([[1], 'closed']);
  });
});

function nextChange(live: ReturnType<ReturnType<typeof items>['live']>) {
  type Change = Parameters<Parameters<typeof live.on<'change'>>[1]>[0];
  const next = Promise.withResolvers<Change>();
  const off = live.on('change', (change) => {
    off();
    next.resolve(change as Change);
  });
  return next.promise;
}
