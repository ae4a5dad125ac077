import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { patientMs } from '../../../../scripts/patience.ts';
import { compileConfig } from './compile-config.ts';
import { readPath, withSearch } from './path-pattern.ts';

function redirected(redirects: { from: string; to: string; status?: 302 }[], address: string) {
  const path = readPath(address);
  if (!path) throw new Error(address);
  return compileConfig({ redirects }).redirectAt(path);
}
const leadsTo = (from: string, to: string, address: string) =>
  redirected([{ from, to }], address)?.location ?? null;

describe('redirects', () => {
  test.each([
    ['/old', '/new', '/old', '/new'],
    ['/old', '/new', '/old/', null],
    ['/old/', '/new', '/old', null],
    ['/old', '/new', '/Old', null],
    ['/old', '/new', '/older', null],
    ['/', '/home', '/', '/home'],
    ['/o%6cd', '/new', '/old', '/new'],
    ['/caf%C3%A9', '/new', '/cafe%CC%81', '/new'],
    ['/blog/:slug', '/posts/:slug', '/blog/a', '/posts/a'],
    ['/blog/:slug', '/posts/:slug', '/blog/a/b', null],
    ['/blog/:slug', '/posts/:slug', '/blog/', null],
    ['/blog/:slug/', '/posts/:slug', '/blog/a/', '/posts/a'],
    ['/:year/:slug', '/posts/:slug?year=:year', '/2024/a%26b', '/posts/a%26b?year=2024'],
    ['/docs/*', '/manual/:splat', '/docs/a/b', '/manual/a/b'],
    ['/docs/*', '/manual/:splat', '/docs/a/', '/manual/a/'],
    ['/docs/*', '/manual/:splat', '/docs/', '/manual/'],
    ['/docs/*', '/manual/:splat', '/docs', null],
    ['/*', 'https://new.example/:splat', '/a/b', 'https://new.example/a/b'],
    ['/*', 'https://new.example/:splat', '/', 'https://new.example/'],
    ['/*', 'https://new.example:8443/:splat', '/a', 'https://new.example:8443/a'],
    ['/a/:x.html', '/b', '/a/:x.html', '/b'],
    ['/p', '/q:8080', '/p', '/q:8080'],
  ])('%s → %s: %s leads to %s', (from, to, address, expected) =>
    expect(leadsTo(from, to, address)).toBe(expected),
  );

  test('the first matching rule wins, with or without variables', () => {
    const rules = [
      { from: '/a/*', to: '/one' },
      { from: '/a/b', to: '/two' },
      { from: '/:x/:y', to: '/three' },
      { from: '/c', to: '/four', status: 302 as const },
      { from: '/c', to: '/five' },
      { from: '/*', to: '/six' },
    ];
    const at = (address: string) => redirected(rules, address);
    expect(at('/a/b')).toEqual({ location: '/one', status: 301 });
    expect(at('/x/y')).toEqual({ location: '/three', status: 301 });
    expect(at('/c')).toEqual({ location: '/four', status: 302 });
    expect(at('/z')).toEqual({ location: '/six', status: 301 });
  });

  test('a rule that leads to the same path is skipped in any spelling', () => {
    expect(leadsTo('/*', '/index.html', '/index.html')).toBeNull();
    expect(leadsTo('/*', '/index.html#top', '/index.html')).toBeNull();
    expect(leadsTo('/:a', '/%61', '/a')).toBeNull();
    expect(leadsTo('/*', '/:splat', '/a/b')).toBeNull();
  });

  test.each([
    ['/*', '/:splat/x', '/'],
    ['/go/*', '/:splat/evil.example', '/go/'],
    ['/go/:a/*', '/:splat/:a', '/go/evil.example/'],
    ['/go/*', '/:splat', '/go/evil.example/a'],
    ['/go/:a', '/:a', '/go/https:evil.example'],
    ['/go/:a', '/:a', '/go/@evil.example'],
  ])('%s → %s: the path %s never becomes a host', (from, to, address) => {
    const location = leadsTo(from, to, address);
    expect(location).toMatch(/^\/(?![/\\])/);
    expect(new URL(location!, 'https://site.example').origin).toBe('https://site.example');
  });

  test('values stay in their segment and cannot inject a header', () => {
    const text = fc
      .string({ unit: 'grapheme', minLength: 1, maxLength: 8 })
      .filter((it) => it.isWellFormed());
    const to = fc.constantFrom(
      '/:splat',
      '/:splat/x',
      '/a/:splat',
      'https://new.example/:splat',
      '/?q=:splat',
    );
    fc.assert(
      fc.property(fc.array(text, { maxLength: 3 }), to, (parts, target) => {
        const path = readPath(`/go/${parts.map(encodeURIComponent).join('/')}`);
        const found = path && compileConfig({ redirects: [{ from: '/go/*', to: target }] }).redirectAt(path);
        if (!found) return;
        expect(found.location).toMatch(/^[!-~]+$/);
        const url = new URL(found.location, 'https://site.example');
        expect(url.origin).toBe(target.startsWith('/') ? 'https://site.example' : 'https://new.example');
        expect(url.hash).toBe('');
      }),
      { numRuns: 1_000 },
    );
  });

  test('rules that differ in their last segment cost one comparison each', () => {
    const names = (at: number) => Array.from({ length: 102 }, (_, part) => `:n${at}_${part}`).join('/');
    const redirects = Array.from({ length: 570 }, (_, at) => ({ from: `/${names(at)}/x${at}`, to: '/b' }));
    const headers = Array.from({ length: 100 }, (_, at) => ({
      path: redirects[at]!.from,
      headers: { a: 'b' },
    }));
    const config = compileConfig({ redirects, headers });
    const path = readPath(`/${'a/'.repeat(102)}y`)!;
    const ask = () => [config.redirectAt(path), config.headersAt(path)];
    expect(ask()).toEqual([null, {}]);
    // The fastest run counts: the machine may be busy.
    let best = Number.POSITIVE_INFINITY;
    for (let turn = 0; turn < 100; turn++) {
      const begun = performance.now();
      ask();
      best = Math.min(best, performance.now() - begun);
    }
    expect(best).toBeLessThan(1);
  });

  test('a thousand rules and a long path are matched quickly', () => {
    const redirects = Array.from({ length: 1_000 }, (_, at) => ({
      from: `/${':a/'.repeat(40).replace(/:a/g, (_m, offset: number) => `:a${offset}`)}x${at}/*`,
      to: '/b',
    }));
    const config = compileConfig({ redirects });
    const path = readPath(`/${'a/'.repeat(500)}`)!;
    const begun = performance.now();
    expect(config.redirectAt(path)).toBeNull();
    expect(performance.now() - begun).toBeLessThan(patientMs(200));
  });
});

describe('the query of a redirect', () => {
  test.each([
    ['/b', 'x=1', '/b?x=1'],
    ['/b', '', '/b'],
    ['/b?y=2', 'x=1', '/b?y=2'],
    ['/b#part', 'x=1', '/b?x=1#part'],
    ['/b#a?c', 'x=1', '/b?x=1#a?c'],
    ['/b', 'a b\r\nSet-Cookie: c=ä', '/b?a%20b%0D%0ASet-Cookie:%20c=%C3%A4'],
    ['/b', '\ud800', '/b?%EF%BF%BD'],
  ])('%s with %j → %s', (target, search, expected) => expect(withSearch(target, search)).toBe(expected));
});

describe('headers by path', () => {
  const config = compileConfig({
    headers: [
      { path: '/*', headers: { 'X-All': 'a', 'x-who': 'first' } },
      { path: '/docs/:page', headers: { 'X-Who': 'second' } },
      { path: '/docs/a', headers: { 'x-exact': 'yes' } },
    ],
  });
  const at = (address: string) => config.headersAt(readPath(address)!);

  test('all matching rules apply, later ones win, and names are lower case', () => {
    expect(at('/')).toEqual({ 'x-all': 'a', 'x-who': 'first' });
    expect(at('/docs/b')).toEqual({ 'x-all': 'a', 'x-who': 'second' });
    expect(at('/docs/a')).toEqual({ 'x-all': 'a', 'x-who': 'second', 'x-exact': 'yes' });
  });

  test('refused headers are not sent even if they are stored', () => {
    const stored = {
      'X-Accel-Redirect': '/etc/passwd',
      'x-accel-expires': '9',
      'X-Sendfile': '/etc/passwd',
      'x-litespeed-cache-control': 'public',
      'x-reproxy-url': 'http://a',
      'edge-control': 'max-age=9',
      'cdn-cache-control': 'max-age=9',
      'Cloudflare-CDN-Cache-Control': 'max-age=9',
      'surrogate-control': 'max-age=9',
      'Surrogate-Key': 'a',
      'set-cookie': 'a=b',
      refresh: '0;url=//a',
    };
    const { headersAt } = compileConfig({ headers: [{ path: '/*', headers: { ...stored, 'x-a': 'b' } }] });
    expect(headersAt(readPath('/')!)).toEqual({ 'x-a': 'b' });
  });

  test('equal matches share one object', () => {
    expect(at('/x')).toBe(at('/y/z'));
    expect(at('/docs/b')).toBe(at('/docs/c'));
  });

  test('patterns match like a simple model', () => {
    const part = fc.constantFrom('a', 'b', ':x', ':y', 'c');
    const pattern = fc
      .tuple(fc.uniqueArray(part, { maxLength: 3 }), fc.constantFrom('', '/', '/*'))
      .map(([parts, end]) => `/${parts.join('/')}${parts.length === 0 ? end.slice(1) : end}`);
    const address = fc
      .tuple(fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 4 }), fc.boolean())
      .map(([parts, slash]) => `/${parts.join('/')}${slash && parts.length > 0 ? '/' : ''}`);
    fc.assert(
      fc.property(pattern, address, (from, asked) => {
        const model = new RegExp(`^${from.replace(/:[a-z]/g, '[^/]+').replace(/\*$/, '.*')}$`);
        const found = compileConfig({ headers: [{ path: from, headers: { a: 'b' } }] }).headersAt(
          readPath(asked)!,
        );
        expect([from, asked, 'a' in found]).toEqual([from, asked, model.test(asked)]);
      }),
      { numRuns: 2_000 },
    );
  });
});
