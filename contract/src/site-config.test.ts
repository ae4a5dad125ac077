import { describe, expect, test } from 'bun:test';
import { SiteConfig, siteConfigJsonSchema } from './site-config.shapes.ts';
import { refusedSiteHeaders } from './site-config.ts';

const faults = (config: unknown) => {
  const read = SiteConfig.safeParse(config);
  return read.success ? [] : read.error.issues.map((issue) => issue.path.join('.'));
};
const redirect = (rule: Record<string, unknown>) => faults({ redirects: [rule] });
const header = (name: string, value: string) =>
  faults({ headers: [{ path: '/*', headers: { [name]: value } }] });

describe('a site configuration', () => {
  test('accepts every key', () => {
    expect(
      faults({
        index: 'index.html',
        spa: true,
        not_found: 'errors/404.html',
        clean_urls: false,
        trailing_slash: true,
        headers: [{ path: '/assets/*', headers: { 'Cache-Control': 'max-age=60', 'x-team': 'pets' } }],
        redirects: [
          { from: '/old', to: '/new' },
          { from: '/blog/:year/*', to: '/posts/:year/:splat', status: 308 },
          { from: '/docs/*', to: 'https://docs.example.com/:splat', status: 302 },
        ],
      }),
    ).toEqual([]);
  });

  test('refuses an unknown key and reports where it is', () => {
    expect(faults({ redirects: [{ from: '/a', to: '/b', forced: true }] })).toEqual(['redirects.0']);
  });

  for (const name of refusedSiteHeaders) {
    test(`cannot set ${name} in any spelling`, () => {
      expect(header(name, 'x')).not.toEqual([]);
      expect(header(name.toUpperCase(), 'x')).not.toEqual([]);
    });
  }

  test('cannot set headers for proxies, for clearing site data or for redirects', () => {
    for (const name of ['X-Accel-Redirect', 'x-accel-anything', 'X-Sendfile', 'X-LIGHTTPD-send-file'])
      expect(header(name, '/etc/passwd')).toEqual([`headers.0.headers.${name}`]);
    for (const name of ['Clear-Site-Data', 'Refresh'])
      expect(header(name, '0')).toEqual([`headers.0.headers.${name}`]);
    for (const name of ['Link', 'SourceMap', 'x-accelerated']) expect(header(name, 'x')).toEqual([]);
  });

  test('cannot inject a header', () => {
    for (const value of ['a\r\nSet-Cookie: b=c', 'a\nb', 'a\rb', 'a\u0000b', 'a\u0085b'])
      expect(header('x-note', value)).toEqual(['headers.0.headers.x-note']);
    for (const name of ['a b', 'a:b', 'a\r\nb', '', 'ä']) expect(header(name, 'x')).not.toEqual([]);
  });

  const openEnded = [
    '//evil.example',
    '/\\evil.example',
    'https://:splat/',
    'javascript:alert(1)',
    'evil.example',
  ];
  for (const to of openEnded) {
    test(`does not redirect to ${to}`, () => expect(redirect({ from: '/*', to })).not.toEqual([]));
  }
  test.each(['/a:b', '/a/:b.html', '/:1', '/a/:', '/:a:b'])(
    'has :name as a whole segment only, not %s',
    (from) => expect(redirect({ from, to: '/x' })).toEqual(['redirects.0.from']),
  );

  test('does not take the host of a redirect from the path', () => {
    expect(redirect({ from: '/go/:host', to: 'https://:host/' })).not.toEqual([]);
    expect(redirect({ from: '/go/:host', to: 'https://x.:host/' })).not.toEqual([]);
    expect(redirect({ from: '/go/:user', to: 'https://a:user@b.example/' })).not.toEqual([]);
  });
  test('has no line break, query or backslash in a pattern', () => {
    for (const from of ['/a\r\nb', '/a?b', '/a#b', '/a\\b', 'a', '/a*', '/*/b', '/ä', '/a b'])
      expect(redirect({ from, to: '/x' })).not.toEqual([]);
  });
  test('has no redirect loops', () => {
    expect(redirect({ from: '/a', to: '/a' })).toEqual(['redirects.0.to']);
    const circle = [
      { from: '/x', to: '/a' },
      { from: '/a', to: '/b' },
      { from: '/b', to: '/a' },
    ];
    expect(faults({ redirects: circle })).toEqual(['redirects.1.to']);
  });
  test.each([
    ['/a/*', '/a/b/:splat'],
    ['/a/*', '/a/'],
    ['/a/*', '/a/b?c=:splat'],
    ['/*', '/index.html'],
    ['/*', '/:splat'],
    ['/:lang/home', '/en/home'],
    ['/:one/:other', '/:other/:one'],
    ['/a', '/a#top'],
  ])('has no redirect from %s to %s, which matches its own pattern', (from, to) =>
    expect(redirect({ from, to })).toEqual(['redirects.0.to']),
  );
  test.each([
    ['/a/*', '/a'],
    ['/a/*', '/b/:splat'],
    ['/old/*', '/:splat'],
    ['/a', '/a/'],
    ['/:page', '/pages/:page'],
    ['/*', 'https://www.example.com/:splat'],
    ['/:lang/home', '/en/start'],
  ])('may redirect from %s to %s', (from, to) => expect(redirect({ from, to })).toEqual([]));
  test('refuses an unknown placeholder in a target', () => {
    expect(redirect({ from: '/a/:one', to: '/b/:two' })).toEqual(['redirects.0.to']);
    expect(redirect({ from: '/a', to: '/b/:splat' })).toEqual(['redirects.0.to']);
    expect(redirect({ from: '/:a/:a', to: '/:a' })).toEqual(['redirects.0.from']);
  });
  test('limits the number of rules', () => {
    const rule = (at: number) => ({ from: `/a${at}`, to: '/b' });
    const rules = Array.from({ length: 1_001 }, (_, at) => rule(at));
    expect(faults({ redirects: rules.slice(1) })).toEqual([]);
    expect(faults({ redirects: rules })).toEqual(['redirects']);
  });
  test('limits the segments of a pattern with variables to 16, and of a plain path not', () => {
    const deep = (parts: number) => '/a'.repeat(parts);
    expect(redirect({ from: `${deep(15)}/*`, to: '/b' })).toEqual([]);
    expect(redirect({ from: `${deep(16)}/*`, to: '/b' })).toEqual(['redirects.0.from']);
    expect(redirect({ from: `/:x${deep(16)}`, to: '/b' })).toEqual(['redirects.0.from']);
    expect(redirect({ from: deep(40), to: '/b' })).toEqual([]);
  });
  test.each([
    'X-LiteSpeed-Cache-Control',
    'x-reproxy-url',
    'Surrogate-Control',
    'surrogate-key',
    'Edge-Control',
    'CDN-Cache-Control',
    'Cloudflare-CDN-Cache-Control',
    'X-Accel-Redirect',
    'X-Sendfile',
    'Refresh',
  ])('does not set %s, which proxies interpret', (name) =>
    expect(faults({ headers: [{ path: '/*', headers: { [name]: 'a' } }] })).not.toEqual([]),
  );
  test('is published as a JSON Schema', () => {
    const schema = siteConfigJsonSchema({ baseUrl: 'http://localhost:4400' });
    expect(schema.$id).toBe('http://localhost:4400/schemas/site.json');
    expect(Object.keys(schema.properties as object)).toContain('redirects');
  });
});
