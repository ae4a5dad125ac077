import { connect } from 'node:net';
import { patientMs } from '../../scripts/patience.ts';
import { connectClient } from '../../server/src/http/raw-http/testing.ts';
import type { RunningServer } from './server.ts';

export interface RawAnswer {
  status: number;
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>;
  body: Buffer;
}

const quietMsMax = patientMs(15_000);

/**
 * Sends raw requests pipelined on one connection and reads the responses in order: fewer than requests when the server
 * closes the connection after a malformed one. No client normalizes the paths.
 */
export function sendRaw(
  port: number,
  requests: readonly { bytes: Buffer; isHead: boolean }[],
): Promise<RawAnswer[]> {
  const { promise, resolve, reject } = Promise.withResolvers<RawAnswer[]>();
  const answers: RawAnswer[] = [];
  let left: Buffer = Buffer.alloc(0);
  const socket = connect(port, '127.0.0.1');
  const end = () => {
    socket.destroy();
    resolve(answers);
  };
  const take = (isClosed: 'open' | 'closed') => {
    while (answers.length < requests.length) {
      const read = readAnswer(left, requests[answers.length]!, isClosed);
      if (!read) break;
      answers.push(read.answer);
      left = left.subarray(read.end);
    }
    if (answers.length === requests.length) end();
  };
  socket.setTimeout(quietMsMax, () => {
    socket.destroy();
    reject(new Error(`After ${answers.length} of ${requests.length} answers nothing came any more.`));
  });
  socket.on('data', (chunk: Buffer) => {
    left = left.byteLength === 0 ? chunk : Buffer.concat([left, chunk]);
    take('open');
  });
  socket.on('error', end);
  socket.on('close', () => {
    take('closed');
    resolve(answers);
  });
  socket.write(Buffer.concat(requests.map(({ bytes }) => bytes)));
  return promise;
}

/** Null: the response is not complete yet. */
function readAnswer(
  bytes: Buffer,
  { isHead }: { isHead: boolean },
  state: 'open' | 'closed',
): { answer: RawAnswer; end: number } | null {
  const headEnd = bytes.indexOf('\r\n\r\n');
  if (headEnd < 0) return null;
  const [line = '', ...lines] = bytes.subarray(0, headEnd).toString('latin1').split('\r\n');
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(line)?.[1]);
  if (!status) throw new Error(`No answer begins like this: ${line}`);
  const headers = Object.fromEntries(
    lines.map((text) => {
      const colon = text.indexOf(':');
      return [text.slice(0, colon).toLowerCase(), text.slice(colon + 1).trim()];
    }),
  );
  const start = headEnd + 4;
  const whole = (body: Buffer, end: number) => ({ answer: { status, headers, body }, end });
  if (isHead || status === 304 || status === 204) return whole(Buffer.alloc(0), start);
  if (headers['transfer-encoding'] === 'chunked') {
    const read = readChunks(bytes, start);
    return read && whole(read.body, read.end);
  }
  const length = headers['content-length'];
  if (length !== undefined) {
    const end = start + Number(length);
    return bytes.byteLength < end ? null : whole(bytes.subarray(start, end), end);
  }
  return state === 'closed' ? whole(bytes.subarray(start), bytes.byteLength) : null;
}

function readChunks(bytes: Buffer, start: number): { body: Buffer; end: number } | null {
  const parts: Buffer[] = [];
  for (let at = start; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at);
    if (lineEnd < 0) return null;
    const size = Number.parseInt(bytes.subarray(at, lineEnd).toString('latin1'), 16);
    const end = lineEnd + 2 + size + 2;
    if (bytes.byteLength < end) return null;
    if (size === 0) return { body: Buffer.concat(parts), end };
    parts.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = end;
  }
}

function requestHead(port: number, line: string, headers: Record<string, string | number>): string {
  const fields = Object.entries({ host: `localhost:${port}`, ...headers });
  return `${line} HTTP/1.1\r\n${fields.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
}

/** A request whose body is sent in two parts, the second on demand. */
export function slowRequest(
  { port }: RunningServer,
  {
    method,
    path,
    headers,
    body,
  }: { method: string; path: string; headers: Record<string, string>; body: string },
) {
  const bytes = Buffer.from(body);
  const middle = bytes.length >> 1;
  const connected = connectClient(port);
  const begun = connected.then((client) => {
    client.send(requestHead(port, `${method} ${path}`, { ...headers, 'content-length': bytes.length }));
    return new Promise<void>((resolve) => client.socket.write(bytes.subarray(0, middle), () => resolve()));
  });
  return {
    begun,
    /** Sends the rest and returns the status of the response. */
    async finish(): Promise<number> {
      const client = await connected;
      client.send(bytes.subarray(middle));
      const head = await client.until('\r\n\r\n');
      client.socket.destroy();
      return Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1]);
    },
  };
}

/** A stream of rows over a bare socket: the test controls back-pressure and sees whether the stream is complete. */
export function rawStream(server: RunningServer, path: string, headers: Record<string, string>) {
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
  socket.write(requestHead(server.port, `GET ${path}`, { ...headers, accept: 'application/x-ndjson' }));
  return {
    /** Bytes of head and body. */
    bytes: () => bytes,
    text: () => Buffer.concat(chunks).toString(),
    pause: () => socket.pause(),
    resume: () => socket.resume(),
    leave: () => socket.destroy(),
    /** `whole` after the end of the body, `cut` after a closed connection. */
    ended: ended.promise,
  };
}
