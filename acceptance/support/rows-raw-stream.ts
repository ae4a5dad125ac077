import { connect } from 'node:net';
import type { RunningServer } from './server.ts';

/** A stream of rows over a bare socket: the client decides when it takes more, and sees whether the end came. */
export interface RawStream {
  /** Of head and body. */
  bytes(): number;
  text(): string;
  pause(): void;
  resume(): void;
  leave(): void;
  /** The end of the body came; else the connection was cut. */
  ended: Promise<'whole' | 'cut'>;
}

export function rawStream(server: RunningServer, path: string, headers: Record<string, string>): RawStream {
  const socket = connect(server.port, '127.0.0.1');
  const chunks: Buffer[] = [];
  let bytes = 0;
  const ended = Promise.withResolvers<'whole' | 'cut'>();
  const isWhole = () => {
    const tail = Buffer.concat(chunks.slice(-2)).subarray(-7).toString('latin1');
    return tail.endsWith('\r\n0\r\n\r\n');
  };
  socket.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    bytes += chunk.length;
    if (!isWhole()) return;
    ended.resolve('whole');
    socket.destroy();
  });
  socket.on('error', () => {});
  socket.on('close', () => ended.resolve('cut'));
  const lines = [
    `GET ${path} HTTP/1.1`,
    `host: localhost:${server.port}`,
    'accept: application/x-ndjson',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ];
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  return {
    bytes: () => bytes,
    text: () => Buffer.concat(chunks).toString(),
    pause: () => socket.pause(),
    resume: () => socket.resume(),
    leave: () => socket.destroy(),
    ended: ended.promise,
  };
}
