import { describe, expect, test } from 'bun:test';
import { createServer, type Socket } from 'node:net';
import { HeaderList } from '../../../http/headers.ts';
import { openSocketCalls } from '../../../http/socket-calls.ts';
import { type AppClient, createAppClient } from './app-client.ts';
import { freeAddress, startApp, until } from './testing.ts';

const headers = () => new HeaderList([['host', 'shop.apps.test']]);
const get = (client: AppClient, address: string, signal = new AbortController().signal) =>
  client.request(address, { method: 'GET', target: '/', headers: headers(), signal });

/** An app that answers each request head by writing to the socket. */
async function startWriter(answer: (socket: Socket, count: number) => void) {
  const sockets = new Set<Socket>();
  let count = 0;
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).once('close', () => sockets.delete(socket));
    socket.on('data', (bytes) => {
      if (bytes.includes('\r\n\r\n')) answer(socket, ++count);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  const { port } = server.address() as { port: number };
  return {
    address: `127.0.0.1:${port}`,
    sockets,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

const respond = (socket: Socket, text: string) => void socket.write(text.replaceAll('\n', '\r\n'));
const bytesOf = async (response: { bytes(): Promise<Uint8Array> }) =>
  Buffer.from(await response.bytes()).toString();

async function withClient(work: (client: AppClient) => Promise<void>): Promise<void> {
  const client = createAppClient();
  await work(client).finally(() => client.close());
}

describe('a request to an app', () => {
  test('uses the connection of the one before', () =>
    withClient(async (client) => {
      await using app = startApp(() => new Response('hello'));
      const ports = new Set<unknown>();
      await using writer = await startWriter((socket) => {
        ports.add(socket.remotePort);
        respond(socket, 'HTTP/1.1 200 OK\nContent-Length: 2\n\nhi');
      });
      for (let round = 0; round < 5; round++) {
        expect(await bytesOf(await get(client, writer.address))).toBe('hi');
        expect(await bytesOf(await get(client, app.address))).toBe('hello');
      }
      expect(ports.size).toBe(1);
    }));

  test('is sent again if the app has closed the connection', () =>
    withClient(async (client) => {
      await using app = await startWriter((socket, count) => {
        // Without a response, as an app does that closes the connection at that moment.
        if (count === 2) socket.destroy();
        else respond(socket, `HTTP/1.1 200 OK\nContent-Length: 1\n\n${count}`);
      });
      expect(await bytesOf(await get(client, app.address))).toBe('1');
      expect(await bytesOf(await get(client, app.address))).toBe('3');
    }));

  test('fails where nothing listens', () =>
    withClient(async (client) => {
      await expect(get(client, await freeAddress())).rejects.toThrow();
    }));

  test('ends the connection when it is aborted, before and within the body', () =>
    withClient(async (client) => {
      await using app = await startWriter((socket, count) => {
        if (count === 2) respond(socket, 'HTTP/1.1 200 OK\nContent-Length: 10\n\nhalf');
      });
      const first = new AbortController();
      const asked = get(client, app.address, first.signal);
      await until(() => app.sockets.size === 1);
      first.abort(new Error('gone'));
      await expect(asked).rejects.toThrow('gone');
      await until(() => app.sockets.size === 0);
      const second = new AbortController();
      const response = await get(client, app.address, second.signal);
      second.abort(new Error('gone'));
      await expect(response.bytes()).rejects.toThrow('gone');
      await until(() => app.sockets.size === 0);
    }));

  test.skipIf(openSocketCalls() === null)(
    'ends with its abort while the app answers no attempt to connect',
    () =>
      withClient(async (client) => {
        const calls = openSocketCalls()!;
        const bound = calls.bind({ host: '127.0.0.1', port: 0 })!;
        try {
          expect([calls.listen(bound.fd), calls.ignoreNewConnections(bound.fd)]).toEqual([true, true]);
          const signal = AbortSignal.timeout(100);
          const request = get(client, `127.0.0.1:${bound.port}`, signal);
          await expect(request).rejects.toThrow('timed out');
        } finally {
          calls.close(bound.fd);
        }
      }),
  );

  test('reads no faster than the body is read', () =>
    withClient(async (client) => {
      const total = 64 * 1024 * 1024;
      const piece = Buffer.alloc(64 * 1024, 'x');
      let sent = 0;
      await using app = await startWriter((socket) => {
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${total}\r\n\r\n`);
        const send = () => {
          while (sent < total) {
            sent += piece.length;
            if (!socket.write(piece)) return void socket.once('drain', send);
          }
        };
        send();
      });
      const response = await get(client, app.address);
      let before = -1;
      while (sent !== before) {
        before = sent;
        await Bun.sleep(100);
      }
      expect(sent).toBeLessThan(total / 2);
      let read = 0;
      for await (const bytes of response.body ?? []) read += bytes.length;
      expect(read).toBe(total);
    }));
});

describe('the response of an app', () => {
  const chunked = 'HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n5;a=b\nhello\n1\n!\n0\nX-Trailer: yes\n\n';

  test('may come byte by byte', () =>
    withClient(async (client) => {
      await using app = await startWriter(async (socket) => {
        socket.setNoDelay(true);
        for (const byte of `HTTP/1.1 103 Early Hints\nLink: <a>\n\n${chunked}`.replaceAll('\n', '\r\n')) {
          socket.write(byte);
          await Bun.sleep(0);
        }
      });
      for (let round = 0; round < 2; round++) {
        const response = await get(client, app.address);
        expect([response.status, response.headers.get('link')]).toEqual([200, null]);
        expect(await bytesOf(response)).toBe('hello!');
      }
      expect(app.sockets.size).toBe(1);
    }));

  test.each([
    ['with a length', 'HTTP/1.1 200 OK\nContent-Length: 2\n\nhi', 'hi', true],
    ['in chunks', chunked, 'hello!', true],
    [
      'in chunks, with a length that is ignored',
      chunked.replace('\n', '\nContent-Length: 3\n'),
      'hello!',
      false,
    ],
    ['with bytes after its end', 'HTTP/1.1 200 OK\nContent-Length: 2\n\nhiHTTP/1.1 200 OK\n\n', 'hi', false],
    ['that closes', 'HTTP/1.1 200 OK\nConnection: close\nContent-Length: 2\n\nhi', 'hi', false],
    ['of HTTP/1.0', 'HTTP/1.0 200 OK\nContent-Length: 2\n\nhi', 'hi', false],
    ['without a body', 'HTTP/1.1 304 Not Modified\nContent-Length: 9\n\n', '', true],
  ])('%s is read to its end', (_, text, expected, isReused) =>
    withClient(async (client) => {
      const ports: unknown[] = [];
      await using app = await startWriter((socket) => {
        ports.push(socket.remotePort);
        respond(socket, text);
      });
      for (let round = 0; round < 2; round++)
        expect(await bytesOf(await get(client, app.address))).toBe(expected);
      expect(new Set(ports).size).toBe(isReused ? 1 : 2);
    }),
  );

  test.each([
    ['no HTTP', '220 mail\n'],
    ['an invalid status', 'HTTP/1.1 20 OK\n\n'],
    ['a header without a name', 'HTTP/1.1 200 OK\n: x\n\n'],
    ['a folded header', 'HTTP/1.1 200 OK\nA: b\n c\n\n'],
    ['a space before the colon', 'HTTP/1.1 200 OK\nA : b\n\n'],
    ['two lengths', 'HTTP/1.1 200 OK\nContent-Length: 2\nContent-Length: 3\n\nhi!'],
    ['a negative length', 'HTTP/1.1 200 OK\nContent-Length: -2\n\nhi'],
    ['another protocol', 'HTTP/1.1 101 Switching Protocols\nUpgrade: x\n\n'],
    ['a head without end', `HTTP/1.1 200 OK\nA: ${'x'.repeat(70_000)}`],
  ])('is refused with %s', (_, text) =>
    withClient(async (client) => {
      await using app = await startWriter((socket) => respond(socket, text));
      await expect(get(client, app.address)).rejects.toThrow();
    }),
  );

  test.each([
    ['a chunk without a size', 'x\nhello\n0\n\n'],
    ['a chunk that is too long', '2\nhello\n0\n\n'],
  ])('breaks off at %s', (_, text) =>
    withClient(async (client) => {
      await using app = await startWriter((socket) =>
        respond(socket, `HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n${text}`),
      );
      await expect(get(client, app.address).then(bytesOf)).rejects.toThrow();
    }),
  );

  test('may end with the connection; one with a length may not', () =>
    withClient(async (client) => {
      await using app = await startWriter((socket, count) => {
        respond(socket, `HTTP/1.1 200 OK\n${count === 2 ? 'Content-Length: 9\n' : ''}\nhi`);
        socket.end();
      });
      expect(await bytesOf(await get(client, app.address))).toBe('hi');
      await expect(get(client, app.address).then(bytesOf)).rejects.toThrow();
    }));

  test('may end its lines with LF only', () =>
    withClient(async (client) => {
      await using app = await startWriter((socket) => void socket.end('HTTP/1.0 200 OK\nA: b\n\nhi\r\n\r\n'));
      const response = await get(client, app.address);
      expect([response.headers.get('a'), await bytesOf(response)]).toEqual(['b', 'hi\r\n\r\n']);
    }));
});
