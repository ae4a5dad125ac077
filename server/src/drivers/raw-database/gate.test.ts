import { expect, test } from 'bun:test';
import { errorMessage, parseStartup, startupBytesMax } from './gate.ts';

function message(code: number, body: string | Buffer = '', length?: number): Buffer {
  const rest = Buffer.from(body);
  const head = Buffer.alloc(8);
  head.writeUInt32BE(length ?? rest.length + 8, 0);
  head.writeUInt32BE(code, 4);
  return Buffer.concat([head, rest]);
}

const version3 = 196_608;
const login = (body: string) => parseStartup(message(version3, body));

test('a login is parsed with its database, by default the user name', () => {
  const as = (user: string, database: string, replication = false) =>
    ({ kind: 'login', user, database, replication }) as const;
  expect(login('user\0me\0database\0mine\0\0')).toEqual(as('me', 'mine'));
  expect(login('user\0me\0\0')).toEqual(as('me', 'me'));
  expect(login('user\0me\0database\0\0application_name\0\0\0')).toEqual(as('me', 'me'));
  expect(login('replication\0true\0user\0me\0\0')).toEqual(as('me', 'me', true));
  expect(login('\0')).toEqual(as('', ''));
});

test('every prefix of a message is incomplete, and bytes after it are ignored', () => {
  const whole = message(version3, 'user\0me\0\0');
  for (let at = 0; at < whole.length; at++)
    expect(parseStartup(whole.subarray(0, at))).toEqual({ kind: 'incomplete' });
  expect(parseStartup(Buffer.concat([whole, Buffer.from('more\0')]))).toMatchObject({ user: 'me' });
});

test('requests for encryption and cancellation are recognized', () => {
  expect(parseStartup(message(80877103))).toEqual({ kind: 'encryption', bytes: 8 });
  expect(parseStartup(message(80877104))).toEqual({ kind: 'encryption', bytes: 8 });
  expect(parseStartup(message(80877102, Buffer.alloc(8)))).toEqual({ kind: 'cancel' });
  expect(parseStartup(message(80877103, 'x'))).toEqual({ kind: 'malformed' });
});

test.each([
  ['a duplicate name', message(version3, 'user\0me\0user\0you\0\0')],
  ['a name without a value', message(version3, 'user\0')],
  ['a missing end', message(version3, 'user\0me\0')],
  ['an unterminated text', message(version3, 'user\0me')],
  ['an empty name before others', message(version3, '\0x\0user\0me\0\0')],
  ['another protocol', message(131_072, 'user\0me\0\0')],
  ['a length too small', message(version3, '', 4)],
  ['a length too large', message(version3, '', startupBytesMax + 1)],
  ['an HTTP request', Buffer.from('GET / HTTP/1.1\r\n\r\n')],
])('%s is malformed', (_, bytes) => {
  expect(parseStartup(bytes)).toEqual({ kind: 'malformed' });
});

test('errorMessage has the format of PostgreSQL’s errors', () => {
  const bytes = errorMessage('28000', 'no');
  expect(bytes.toString('latin1', 0, 1)).toBe('E');
  expect(bytes.readUInt32BE(1)).toBe(bytes.length - 1);
  expect(bytes.subarray(5).toString()).toBe('SFATAL\0VFATAL\0C28000\0Mno\0\0');
});
