import { expect, test } from 'bun:test';
import { readStartup, refusal, startupBytesMax } from './startup-message.ts';

function message(code: number, body: string | Buffer = '', length?: number): Buffer {
  const rest = Buffer.from(body);
  const head = Buffer.alloc(8);
  head.writeUInt32BE(length ?? rest.length + 8, 0);
  head.writeUInt32BE(code, 4);
  return Buffer.concat([head, rest]);
}

const version3 = 196_608;
const login = (body: string) => readStartup(message(version3, body));

test('a login is read with its database, which is that of the user’s name where none is given', () => {
  const as = (user: string, database: string, replication = false) => ({
    ...{ kind: 'login', user, database, replication },
  });
  expect(login('user\0me\0database\0mine\0\0')).toEqual(as('me', 'mine') as never);
  expect(login('user\0me\0\0')).toEqual(as('me', 'me') as never);
  expect(login('user\0me\0database\0\0application_name\0\0\0')).toEqual(as('me', 'me') as never);
  expect(login('replication\0true\0user\0me\0\0')).toEqual(as('me', 'me', true) as never);
  expect(login('\0')).toEqual(as('', '') as never);
});

test('every beginning of a message is incomplete, and nothing behind it is read', () => {
  const whole = message(version3, 'user\0me\0\0');
  for (let at = 0; at < whole.length; at++)
    expect(readStartup(whole.subarray(0, at))).toEqual({ kind: 'incomplete' });
  expect(readStartup(Buffer.concat([whole, Buffer.from('more\0')]))).toMatchObject({ user: 'me' });
});

test('requests for encryption and to cancel are told apart from logins', () => {
  expect(readStartup(message(80877103))).toEqual({ kind: 'encryption', bytes: 8 });
  expect(readStartup(message(80877104))).toEqual({ kind: 'encryption', bytes: 8 });
  expect(readStartup(message(80877102, Buffer.alloc(8)))).toEqual({ kind: 'cancel' });
  expect(readStartup(message(80877103, 'x'))).toEqual({ kind: 'malformed' });
});

test.each([
  ['a name given twice', message(version3, 'user\0me\0user\0you\0\0')],
  ['a name without a value', message(version3, 'user\0')],
  ['an end that is missing', message(version3, 'user\0me\0')],
  ['a text that does not end', message(version3, 'user\0me')],
  ['an empty name before others', message(version3, '\0x\0user\0me\0\0')],
  ['another protocol', message(131_072, 'user\0me\0\0')],
  ['a length that is too small', message(version3, '', 4)],
  ['a length that is too large', message(version3, '', startupBytesMax + 1)],
  ['a browser', Buffer.from('GET / HTTP/1.1\r\n\r\n')],
])('%s is malformed', (_, bytes) => {
  expect(readStartup(bytes)).toEqual({ kind: 'malformed' });
});

test('a refusal has the form of PostgreSQL’s errors', () => {
  const bytes = refusal('28000', 'no');
  expect(bytes.toString('latin1', 0, 1)).toBe('E');
  expect(bytes.readUInt32BE(1)).toBe(bytes.length - 1);
  expect(bytes.subarray(5).toString()).toBe('SFATAL\0VFATAL\0C28000\0Mno\0\0');
});
