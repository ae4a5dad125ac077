import { expect, test } from 'bun:test';
import { createHostReader } from './host-names.ts';

const read = createHostReader({
  baseUrl: 'https://svc.example.com',
  extraHosts: ['inner.example.com', 'svc.internal'],
  appsDomain: 'example.com',
  isDomain: (host) => host === 'shop.test',
});

test.each([
  ['svc.example.com', { kind: 'platform' }],
  ['inner.example.com', { kind: 'platform' }],
  ['svc.internal', { kind: 'platform' }],
  ['localhost', { kind: 'platform' }],
  ['127.0.0.1', { kind: 'platform' }],
  ['[::1]', { kind: 'platform' }],
  ['', { kind: 'platform' }],
  ['example.com', { kind: 'platform' }],
  ['notexample.com', { kind: 'platform' }],
  ['other.test', { kind: 'platform' }],
  ['shop.example.com', { kind: 'app', subdomain: 'shop' }],
  ['a.b.example.com', { kind: 'app', subdomain: 'a.b' }],
  ['.example.com', { kind: 'app', subdomain: '' }],
  ['shop--staging.example.com', { kind: 'staging', subdomain: 'shop' }],
  ['--staging.example.com', { kind: 'staging', subdomain: '' }],
  ['shop--other.example.com', { kind: 'app', subdomain: 'shop--other' }],
  ['shop.test', { kind: 'domain', host: 'shop.test' }],
  ['www.shop.test', { kind: 'platform' }],
] as const)('%s → %j', (host, expected) => expect(read(host)).toEqual(expected));
