import { expect, test } from 'bun:test';
import { createServer } from 'node:net';
import { createClient } from './client.ts';
import { SvcError, SvcNetworkError } from './errors.ts';
import { problem, scriptedServer } from './testing.ts';

const server = scriptedServer();
const clientOf = (baseUrl: string) =>
  createClient({ baseUrl, tenant: 'acme', app: 'todo', auth: { apiKey: 'k' }, retriesMax: 0 });
const todos = clientOf(server.baseUrl).table<{ n: number; text: string }>('todos');

function streamOf(pieces: readonly (string | Uint8Array)[]): Response {
  const encoder = new TextEncoder();
  const body = new ReadableStream({
    async start(controller) {
      for (const piece of pieces) {
        controller.enqueue(typeof piece === 'string' ? encoder.encode(piece) : piece);
        await new Promise(setImmediate);
      }
      controller.close();
    },
  });
  return new Response(body, { headers: { 'content-type': 'application/x-ndjson' } });
}

async function rowsOf(rows: AsyncIterable<unknown>): Promise<unknown[]> {
  const all: unknown[] = [];
  for await (const row of rows) all.push(row);
  return all;
}

test('rows arrive one by one, whatever the chunks of the stream', async () => {
  const text = '{"n":1,"text":"é😀"}\n{"n":2,"text":"\\n"}\n\n{"n":3,"text":""}\n';
  const bytes = new TextEncoder().encode(text);
  server.answerWith(() => streamOf(Array.from(bytes, (byte) => Uint8Array.of(byte))));
  expect(await rowsOf(todos.is('n', 'not_null').sort('n').export())).toEqual([
    { n: 1, text: 'é😀' },
    { n: 2, text: '\n' },
    { n: 3, text: '' },
  ]);
  expect(server.seen[0]!.headers.get('accept')).toBe('application/x-ndjson');
  expect(server.seen[0]!.query).toEqual([
    ['n', 'is.not_null'],
    ['sort', 'n'],
  ]);
});

test('a stream that ends within a line, or otherwise, is truncated', async () => {
  for (const last of ['{"n":2', '{"n":2}', '<html>\n']) {
    server.answerWith(() => streamOf(['{"n":1}\n', last]));
    const seen: unknown[] = [];
    const attempt = (async () => {
      for await (const row of todos.export()) seen.push(row);
    })();
    expect(await attempt.catch((error) => error)).toBeInstanceOf(SvcNetworkError);
    expect(seen).toEqual([{ n: 1 }]);
  }
});

test('a connection that breaks between two lines is an error', async () => {
  const half = createServer((socket) => {
    socket.once('data', () => {
      const line = '{"n":1}\n';
      socket.write(
        `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${line.length.toString(16)}\r\n${line}\r\n`,
      );
      setTimeout(() => socket.destroy(), 50);
    });
  });
  await new Promise<void>((resolve) => half.listen(0, '127.0.0.1', resolve));
  const address = half.address();
  const port = typeof address === 'object' ? address?.port : 0;
  const attempt = rowsOf(clientOf(`http://127.0.0.1:${port}`).table('todos').export());
  expect(await attempt.catch((error) => error)).toBeInstanceOf(SvcNetworkError);
  half.close();
});

test('leaving the loop ends the stream', async () => {
  let cancelled = false;
  server.answerWith(() => {
    let n = 0;
    const body = new ReadableStream({
      async pull(controller) {
        await new Promise(setImmediate);
        controller.enqueue(new TextEncoder().encode(`{"n":${n++}}\n`.repeat(100)));
      },
      cancel() {
        cancelled = true;
      },
    });
    return new Response(body);
  });
  for await (const { n } of todos.export()) if (n > 3) break;
  for (let tries = 0; !cancelled && tries < 100; tries++) await Bun.sleep(20);
  expect(cancelled).toBe(true);
});

test('a rejected export throws like any call, and has no pages', async () => {
  server.answerWith(() => problem(404, 'not_found'));
  const error = await rowsOf(todos.export()).catch((caught) => caught);
  expect(error).toBeInstanceOf(SvcError);
  expect(error.code).toBe('not_found');
  expect(await rowsOf(todos.perPage(5).export()).catch((caught) => caught)).toBeInstanceOf(TypeError);
});

/** A signal that counts its listeners. */
function countedSignal(): { signal: AbortSignal; stop(): void; listeners(): number } {
  const controller = new AbortController();
  const { signal } = controller;
  let count = 0;
  const { addEventListener, removeEventListener } = signal;
  signal.addEventListener = (...args: unknown[]) => {
    count++;
    Reflect.apply(addEventListener, signal, args);
  };
  signal.removeEventListener = (...args: unknown[]) => {
    count--;
    Reflect.apply(removeEventListener, signal, args);
  };
  return { signal, stop: () => controller.abort(), listeners: () => count };
}

test('a signal ends a running stream, and has no listeners afterwards', async () => {
  const { signal, stop, listeners } = countedSignal();
  server.answerWith(() => streamOf(['{"n":1}\n', '{"n":2}\n']));
  for await (const _ of todos.export({ signal })) expect(listeners()).toBe(1);
  expect(listeners()).toBe(0);
  for await (const _ of todos.export({ signal })) break;
  expect(listeners()).toBe(0);
  server.answerWith(() => streamOf(['{"n":1}\n', '{"n"']));
  expect(await rowsOf(todos.export({ signal })).catch((error) => error)).toBeInstanceOf(SvcNetworkError);
  expect(listeners()).toBe(0);
  server.answerWith(() => problem(404, 'not_found'));
  expect(await rowsOf(todos.export({ signal })).catch((error) => error)).toBeInstanceOf(SvcError);
  expect(listeners()).toBe(0);
  server.answerWith(() => new Response(new ReadableStream({ start: (to) => to.enqueue(`{"n":1}\n`) })));
  const ended = (async () => {
    for await (const _ of todos.export({ signal })) stop();
  })();
  expect((await ended.catch((error) => error)).name).toBe('AbortError');
  expect(listeners()).toBe(0);
});
