import { expect, test } from 'bun:test';
import { createIssuerKeys, isPublic } from './issuer-keys.ts';

const keys = createIssuerKeys({
  trusted: ['https://gitlab.corp.example/sub'],
  now: Date.now,
  resolve: async (host) => (host === 'rebound.example' ? ['93.184.216.34', '10.0.0.1'] : []),
});

test('public addresses are those of the Internet', () => {
  for (const address of ['93.184.216.34', '8.8.8.8', '2606:4700::1111'])
    expect([address, isPublic(address)]).toEqual([address, true]);
  for (const address of [
    '127.0.0.1',
    '10.1.2.3',
    '172.31.0.1',
    '192.168.1.1',
    '169.254.169.254',
    '100.64.0.1',
    '0.0.0.0',
    '224.0.0.1',
    '255.255.255.255',
    '::1',
    '::',
    'fe80::1',
    'fd00::1',
    '::ffff:10.0.0.1',
    '64:ff9b::a00:1',
    '2002:a00:1::',
    '2001:db8::1',
    'nonsense',
  ])
    expect([address, isPublic(address)]).toEqual([address, false]);
});

test('an issuer in a private network needs the permission of the operator', () => {
  for (const issuer of ['https://token.actions.githubusercontent.com', 'https://gitlab.corp.example'])
    expect(() => keys.check(issuer)).not.toThrow();
  for (const issuer of [
    'http://token.actions.githubusercontent.com',
    'https://127.0.0.1',
    'https://[::1]:8443',
    'https://localhost',
    'https://gitlab',
    'https://metadata.google.internal',
  ])
    expect(() => keys.check(issuer)).toThrow();
});

test('a name with a private address is not asked', async () => {
  expect(keys.get('https://rebound.example')).rejects.toThrow('private network');
  expect(keys.get('https://absent.example')).rejects.toThrow('has no address');
});
