type Startup =
  | { kind: 'incomplete' }
  | { kind: 'malformed' }
  | { kind: 'encryption'; bytes: number }
  | { kind: 'cancel' }
  | { kind: 'login'; user: string; database: string; replication: boolean };

export const startupBytesMax = 10_000;
const cancelCode = 80877102;
const tlsCode = 80877103;
const gssCode = 80877104;

export function parseStartup(received: Buffer): Startup {
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
  return parseLogin(received.subarray(8, length));
}

function parseLogin(body: Buffer): Startup {
  const texts = body.toString('utf8').split('\0');
  if (body.at(-1) !== 0 || texts.length % 2 !== 0 || texts.at(-2) !== '') return { kind: 'malformed' };
  const parameters = new Map<string, string>();
  for (let at = 0; at < texts.length - 2; at += 2) {
    const name = texts[at] ?? '';
    // A parameter given twice is ambiguous: do not guess which one PostgreSQL would use.
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

export function errorMessage(code: string, message: string): Buffer {
  const fields = `SFATAL\0VFATAL\0C${code}\0M${message}\0\0`;
  const head = Buffer.alloc(5);
  head.write('E');
  head.writeUInt32BE(Buffer.byteLength(fields) + 4, 1);
  return Buffer.concat([head, Buffer.from(fields)]);
}

const headBytes = 5;
const authenticationBytesMax = 64 * 1024;

export function watchAuthentication(): (bytes: Buffer) => 'waiting' | 'authenticated' | 'other' {
  let unread = Buffer.alloc(0);
  let seen = 0;
  return (bytes) => {
    seen += bytes.length;
    unread = Buffer.concat([unread, bytes]);
    while (unread.length >= headBytes) {
      const length = unread.readUInt32BE(1);
      if (length < 4 || seen > authenticationBytesMax) return 'other';
      if (unread.length < length + 1) return 'waiting';
      // AuthenticationOk is an 'R' with 0; another number requests a password or similar.
      if (unread[0] === 0x52 && length === 8 && unread.readUInt32BE(headBytes) === 0) return 'authenticated';
      unread = unread.subarray(length + 1);
    }
    return 'waiting';
  };
}
