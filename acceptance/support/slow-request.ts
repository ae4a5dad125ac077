import { connect } from 'node:net';
import type { RunningServer } from './server.ts';

/** A request whose body comes in two parts, the second when the test says so. */
export interface SlowRequest {
  /** The head and the first part are on their way. */
  begun: Promise<void>;
  /** Sends the rest; resolves to the status of the answer. */
  finish(): Promise<number>;
}

export function slowRequest(
  server: RunningServer,
  request: { method: string; path: string; headers: Record<string, string>; body: string },
): SlowRequest {
  const socket = connect(server.port, '127.0.0.1');
  const answered = Promise.withResolvers<number>();
  let text = '';
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1');
    const status = /^HTTP\/1\.1 (\d{3})/.exec(text)?.[1];
    if (status === undefined) return;
    answered.resolve(Number(status));
    socket.destroy();
  });
  socket.on('error', answered.reject);
  socket.on('close', () => answered.reject(new Error('The connection was closed without an answer.')));
  answered.promise.catch(() => {});
  const bytes = Buffer.from(request.body);
  const middle = bytes.length >> 1;
  const lines = [
    `${request.method} ${request.path} HTTP/1.1`,
    `host: localhost:${server.port}`,
    `content-length: ${bytes.length}`,
    ...Object.entries(request.headers).map(([name, value]) => `${name}: ${value}`),
  ];
  const begun = new Promise<void>((resolve) => {
    socket.write(`${lines.join('\r\n')}\r\n\r\n`);
    socket.write(bytes.subarray(0, middle), () => resolve());
  });
  return {
    begun,
    finish() {
      socket.write(bytes.subarray(middle));
      return answered.promise;
    },
  };
}
