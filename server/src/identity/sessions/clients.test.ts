import { expect, test } from 'bun:test';
import { appUrl } from '../../apps/record/rules.ts';
import { isAppOrigin, isAppRedirect, isLoopback } from './clients.ts';

const home = appUrl({ baseUrl: 'https://svc.example.com', appsDomain: 'apps.example.com' }, 'shop');

test("an app's URL is its host below the apps domain, with the platform's scheme and port", () => {
  expect(home).toBe('https://shop.apps.example.com/');
  expect(appUrl({ baseUrl: 'http://localhost:4400', appsDomain: 'apps.localhost' }, 'shop')).toBe(
    'http://shop.apps.localhost:4400/',
  );
});

test.each([
  'https://shop.apps.example.com',
  'https://shop.apps.example.com/',
  'https://shop.apps.example.com/signed/in',
  'https://shop.apps.example.com/a%20b',
  'http://localhost:5173/',
  'http://localhost/back',
  'http://127.0.0.1:3000',
  'http://[::1]:8080/x/y',
])('a sign-in can redirect to %s', (uri) => {
  expect(isAppRedirect(uri, home)).toBe(true);
});

test.each([
  ['another host', 'https://shop2.apps.example.com/'],
  ['a host above', 'https://apps.example.com/'],
  ['a host below', 'https://x.shop.apps.example.com/'],
  ['the host as a prefix', 'https://shop.apps.example.com.evil.test/'],
  ['the host as a user', 'https://shop.apps.example.com@evil.test/'],
  ['a user on the host', 'https://evil@shop.apps.example.com/'],
  ['no TLS where the platform has it', 'http://shop.apps.example.com/'],
  ['another port', 'https://shop.apps.example.com:8443/'],
  ['the port spelt out', 'https://shop.apps.example.com:443/'],
  ['capitals', 'https://SHOP.apps.example.com/'],
  ['a trailing dot', 'https://shop.apps.example.com./'],
  ['a query', 'https://shop.apps.example.com/?next=https://evil.test'],
  ['an empty query', 'https://shop.apps.example.com/?'],
  ['a fragment', 'https://shop.apps.example.com/#x'],
  ['an empty fragment', 'https://shop.apps.example.com/#'],
  ['steps upwards', 'https://shop.apps.example.com/a/../b'],
  ['a backslash', 'https://shop.apps.example.com\\@evil.test/'],
  ['a tab', 'https://shop.apps.example.com/\tx'],
  ['a space before', ' https://shop.apps.example.com/'],
  ['TLS on loopback', 'https://localhost:5173/'],
  ['a name that begins like loopback', 'http://localhost.evil.test/'],
  ['a user on loopback', 'http://evil.test@localhost/'],
  ['another spelling of loopback', 'http://127.1/'],
  ['all addresses', 'http://0.0.0.0:3000/'],
  ['a scheme of an app', 'shop:/back'],
  ['a script', 'javascript:alert(1)'],
  ['no address', 'back'],
  ['nothing', ''],
])('a sign-in never redirects to %s', (_, uri) => {
  expect(isAppRedirect(uri, home)).toBe(false);
});

test('only exact origins of allowed redirect URIs are allowed', () => {
  const origins = ['https://shop.apps.example.com', 'http://localhost:5173', 'http://[::1]:1'];
  for (const origin of origins) expect(isAppOrigin(origin, home)).toBe(true);
  for (const origin of [
    'null',
    '',
    'https://evil.test',
    'http://shop.apps.example.com',
    'http://evil@localhost',
  ])
    expect(isAppOrigin(origin, home)).toBe(false);
});

test('only loopback addresses are loopback', () => {
  expect(isLoopback('http://localhost:1/x')).toBe(true);
  expect(isLoopback('http://shop.apps.localhost:4400/')).toBe(false);
});
