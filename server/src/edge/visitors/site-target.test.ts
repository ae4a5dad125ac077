import { describe, expect, test } from 'bun:test';
import { parseSiteHost, parseSiteTarget, type SiteOriginConfig } from './site-target.ts';

const config: SiteOriginConfig = {
  baseUrl: 'http://localhost:4400',
  appsDomain: 'apps.localhost',
  httpsPort: 8443,
};
const secure: SiteOriginConfig = {
  baseUrl: 'https://svc.example.com',
  appsDomain: 'apps.example.com',
  httpsPort: null,
};

describe('the URL of a site', () => {
  test.each([
    ['http://shop.apps.localhost:4400', 'http://shop.apps.localhost:4400', 'app', '/'],
    ['http://shop.apps.localhost:4400/a/b?c=d&e#f', 'http://shop.apps.localhost:4400', 'app', '/a/b?c=d&e#f'],
    ['http://shop.apps.localhost:4400/%2e%2e/x', 'http://shop.apps.localhost:4400', 'app', '/x'],
    ['http://shop--staging.apps.localhost:4400/', 'http://shop--staging.apps.localhost:4400', 'staging', '/'],
    ['https://www.shop.test/a', 'https://www.shop.test', 'domain', '/a'],
    ['https://www.shop.test:8443/a', 'https://www.shop.test:8443', 'domain', '/a'],
    ['https://xn--bcher-kva.test/', 'https://xn--bcher-kva.test', 'domain', '/'],
  ])('%s is one', (text, origin, kind, path) => {
    expect(parseSiteTarget(text, config)).toMatchObject({ origin, siteHost: { kind }, path });
  });

  test('has the scheme and the port of the platform', () => {
    expect(parseSiteTarget('https://shop.apps.example.com/', secure)).toMatchObject({ path: '/' });
    for (const text of ['http://shop.apps.example.com/', 'https://shop.apps.example.com:4400/'])
      expect([text, parseSiteTarget(text, secure)]).toEqual([text, 'elsewhere']);
  });

  test.each([
    'https://shop.apps.localhost:4400/',
    'http://shop.apps.localhost/',
    'http://shop.apps.localhost:80/',
    'http://shop.apps.localhost:4401/',
    'http://shop.apps.localhost.:4400/',
    'http://SHOP.apps.localhost:4400/',
    'http://shop.apps.localhost:04400/',
    'http://a.shop.apps.localhost:4400/',
    'http://a--shop--other.apps.localhost:4400/',
    'http://a--.apps.localhost:4400/',
    'http://--staging.apps.localhost:4400/',
    'http://shop--staging--staging.apps.localhost:4400/',
    'http://apps.localhost:4400/',
    'http://localhost:4400/',
    'http://127.0.0.1:4400/',
    'http://[::1]:4400/',
    'https://2130706433/',
    'https://0x7f.1/',
    'http://www.shop.test/',
    'https://www.shop.test:443/',
    'https://www.shop.test:9443/',
    'https://www.shop.test./',
    'https://shop。test/',
    'https://%77ww.shop.test/',
    'https://intranet/',
  ])('%s is that of none', (text) => {
    expect(parseSiteTarget(text, config)).toBe('elsewhere');
  });

  test.each([
    '',
    '/path',
    '//shop.apps.localhost:4400/',
    'shop.apps.localhost:4400',
    'javascript:alert(1)',
    'data:text/html,x',
    'ftp://shop.apps.localhost:4400/',
    'HTTP://shop.apps.localhost:4400/',
    'http:/shop.apps.localhost:4400/',
    'http:\\\\shop.apps.localhost:4400/',
    'http://evil.test\\@shop.apps.localhost:4400/',
    'http://shop.apps.localhost:4400\\@evil.test/',
    'http://shop.apps.localhost:4400@evil.test/',
    'http://me:secret@shop.apps.localhost:4400/',
    ' http://shop.apps.localhost:4400/',
    'http://shop.apps.localhost:4400/ ',
    'http://shop.apps.localhost:4400/a\r\nb',
    'http://shop.apps.\tlocalhost:4400/',
    'http://shop.apps.localhost:4400/\0',
    'http://shop.apps.localhost:4400//evil.test/',
    'http://shop.apps.localhost:4400/..//evil.test/',
    'http://shop.apps.localhost:4400/\\evil.test',
    `http://shop.apps.localhost:4400/${'x'.repeat(2_000)}`,
  ])('%j is no plain address', (text) => {
    expect(parseSiteTarget(text, config)).toBeNull();
  });
});

test('a host is an app, a staging host, a custom domain or none of these', () => {
  const kinds = ['shop.apps.localhost', 'shop--staging.apps.localhost', 'shop.test', 'localhost', '10.0.0.1'];
  expect(kinds.map((host) => parseSiteHost(host, config)?.kind ?? null)).toEqual([
    'app',
    'staging',
    'domain',
    null,
    null,
  ]);
});
