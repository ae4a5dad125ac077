import { expect, test } from 'bun:test';
import { createPlatformNames } from './active-hosts.ts';

const isPlatformName = createPlatformNames({
  baseUrl: 'https://svc.example.com',
  extraHosts: ['svc.internal'],
  appsDomain: 'apps.example.com',
});

test.each([
  'svc.example.com',
  'svc.internal',
  'localhost',
  'svc',
  '',
  '127.0.0.1',
  '[::1]',
  '[::ffff:1.2.3.4]',
])('the platform answers at "%s"', (host) => expect(isPlatformName(host)).toBe(true));

test.each([
  'www.shop.test',
  'example.com',
  'apps.example.com',
  'shop.apps.example.com',
  'shop.apps.example.com.',
  'svc.example.com.evil.test',
  'a.svc.internal',
  '127.0.0.1.nip.io',
  '1.2.3',
  'localhost.',
])('the platform does not answer at "%s"', (host) => expect(isPlatformName(host)).toBe(false));

test('the apps domain is not a platform host even without a dot', () => {
  const names = createPlatformNames({ baseUrl: 'http://localhost', extraHosts: [], appsDomain: 'apps' });
  expect([names('apps'), names('svc')]).toEqual([false, true]);
});
