import { connect } from 'node:net';

/** One answer as it came over the wire. */
export interface RawAnswer {
  status: number;
  /** Names in small letters. */
  headers: Readonly<Record<string, string>>;
  body: Buffer;
}

const quietMsMax = 15_000;

/**
 * Sends requests as they are, all at once on one connection, and reads the answers in order; fewer than there were
 * requests when the server closes after one that it can not understand. Nothing on the way makes a path right.
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

/** Null: it is not all there yet. */
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
