/** What a client of PostgreSQL says first. */
export type Startup =
  | { kind: 'incomplete' }
  | { kind: 'malformed' }
  /** It asks for encryption; what follows is the next message. */
  | { kind: 'encryption'; bytes: number }
  | { kind: 'cancel' }
  | { kind: 'login'; user: string; database: string; replication: boolean };

/** PostgreSQL's own limit. */
export const startupBytesMax = 10_000;
const cancelCode = 80877102;
const tlsCode = 80877103;
const gssCode = 80877104;

export function readStartup(received: Buffer): Startup {
  if (received.length < 8) return { kind: 'incomplete' };
  const length = received.readUInt32BE(0);
  if (length < 8 || length > startupBytesMax) return { kind: 'malformed' };
  const code = received.readUInt32BE(4);
  if (code === tlsCode || code === gssCode) {
    return length === 8 ? { kind: 'encryption', bytes: 8 } : { kind: 'malformed' };
  }
  if (received.length < length) return { kind: 'incomplete' };
  if (code === cancelCode) return { kind: 'cancel' };
  if (code >>> 16 !== 3) return { kind: 'malformed' };
  return readLogin(received.subarray(8, length));
}

/** Names and values, each ended by a zero byte, and a last one behind them. */
function readLogin(body: Buffer): Startup {
  const texts = body.toString('utf8').split('\0');
  if (body.at(-1) !== 0 || texts.length % 2 !== 0 || texts.at(-2) !== '') return { kind: 'malformed' };
  const parameters = new Map<string, string>();
  for (let at = 0; at < texts.length - 2; at += 2) {
    const name = texts[at] ?? '';
    // Which of two PostgreSQL would take is not for us to guess.
    if (name === '' || parameters.has(name)) return { kind: 'malformed' };
    parameters.set(name, texts[at + 1] ?? '');
  }
  const user = parameters.get('user') ?? '';
  return {
    kind: 'login',
    user,
    database: parameters.get('database') || user,
    replication: parameters.has('replication'),
  };
}

/** A refusal as PostgreSQL words it, so that every client can show it. */
export function refusal(code: string, message: string): Buffer {
  const fields = `SFATAL\0VFATAL\0C${code}\0M${message}\0\0`;
  const head = Buffer.alloc(5);
  head.write('E');
  head.writeUInt32BE(Buffer.byteLength(fields) + 4, 1);
  return Buffer.concat([head, Buffer.from(fields)]);
}
