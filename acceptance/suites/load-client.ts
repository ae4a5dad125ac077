import type { Socket } from 'bun';

export interface LoadAnswer {
  status: number;
  body: string;
}

/** One request at a time on a connection that is kept; cheaper than `fetch`, so that the server gets the processor. */
export function createLoadClient(port: number) {
  let socket: Socket<undefined> | null = null;
  let waiting: PromiseWithResolvers<LoadAnswer> | null = null;
  let received = Buffer.alloc(0);

  function fail(error: Error): void {
    socket = null;
    // The next answer does not begin with the rest of one that was cut off.
    received = Buffer.alloc(0);
    waiting?.reject(error);
    waiting = null;
  }

  function receive(bytes: Buffer): void {
    received = received.length === 0 ? Buffer.from(bytes) : Buffer.concat([received, bytes]);
    const headEnd = received.indexOf('\r\n\r\n');
    if (headEnd < 0) return;
    const head = received.toString('latin1', 0, headEnd);
    const length = /^content-length: (\d+)$/im.exec(head)?.[1];
    const isChunked = /^transfer-encoding: chunked$/im.test(head);
    const body = received.subarray(headEnd + 4);
    if (
      length !== undefined
        ? body.length < Number(length)
        : isChunked && !body.toString().endsWith('0\r\n\r\n')
    )
      return;
    const answer = { status: Number(head.slice(9, 12)), body: body.toString() };
    received = Buffer.alloc(0);
    const answered = waiting;
    waiting = null;
    if (/^connection: close$/im.test(head)) {
      socket?.end();
      socket = null;
    }
    answered?.resolve(answer);
  }

  return {
    async send(request: string): Promise<LoadAnswer> {
      socket ??= await Bun.connect<undefined>({
        hostname: '127.0.0.1',
        port,
        socket: {
          data: (from, bytes) => {
            if (from === socket) receive(bytes);
          },
          close: (closed) => {
            if (closed === socket) fail(new Error('The connection was closed before the answer.'));
          },
          error: (_, error) => fail(error),
        },
      });
      const answer = Promise.withResolvers<LoadAnswer>();
      waiting = answer;
      socket.write(request);
      return answer.promise;
    },
    close: () => socket?.end(),
  };
}

/** As it is sent. */
export function rawRequest(
  method: string,
  path: string,
  { body, ...headers }: Record<string, string> & { host: string },
): string {
  const all = {
    ...headers,
    ...(body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }),
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body ?? ''}`;
}
