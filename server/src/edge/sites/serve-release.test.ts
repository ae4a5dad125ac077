import { describe, expect, test } from 'bun:test';
import type { SiteConfig } from '@svc/contract/site-config.ts';
import { serveRelease } from './serve-release.ts';
import { readAnswer, type TestSite, testRequest, testSite } from './testing.ts';

const text = 'body { color: red }';
const files: Parameters<typeof testSite>[0] = {
  'index.html': { text: '<h1>home</h1>', br: 'HB', gzip: 'HG' },
  '404.html': '<h1>nowhere</h1>',
  'style.css': { text, br: 'BR', gzip: 'GZIP' },
  'empty.txt': '',
  'large.bin': 'x'.repeat(300 * 1024),
  'huge.bin': 'y'.repeat(1200 * 1024),
};
const site = (config: SiteConfig = {}) => testSite(files, { config });
const ask = (of: TestSite, path: string, headers: Record<string, string> = {}, method = 'GET') =>
  serveRelease(of.source, of.release, testRequest(path, { headers, method }));
const tagOf = async (of: TestSite, path: string, headers: Record<string, string> = {}) =>
  (await ask(of, path, headers)).headers.etag!;

describe('encodings of a file', () => {
  test.each([
    ['br, gzip', 'BR', 'br'],
    ['gzip', 'GZIP', 'gzip'],
    ['identity', text, undefined],
    ['br;q=0, gzip;q=0', text, undefined],
    ['identity;q=0, deflate', text, undefined],
  ])('Accept-Encoding %s gets %s', async (accept, body, encoding) => {
    const answer = await readAnswer(ask(site(), '/style.css', { 'accept-encoding': accept }));
    expect(answer).toMatchObject({ status: 200, text: body });
    expect(answer.headers['content-encoding']).toBe(encoding);
    expect(answer.headers['content-length']).toBe(String(body.length));
    expect(answer.headers.vary).toBe('accept-encoding');
  });

  test('HEAD has the same headers and reads nothing from the store', async () => {
    const of = site();
    const head = await ask(of, '/style.css', { 'accept-encoding': 'br' }, 'HEAD');
    expect(of.looks()).toBe(0);
    expect(head.body).toBeNull();
    expect(head.headers).toEqual((await ask(of, '/style.css', { 'accept-encoding': 'br' })).headers);
  });

  test('an empty file is served', async () => {
    expect(await readAnswer(ask(site(), '/empty.txt'))).toMatchObject({ status: 200, text: '' });
  });
});

describe('conditional requests', () => {
  test('get 304 for a matching, listed or weak tag and for *, with the caching headers', async () => {
    const of = site();
    const tag = await tagOf(of, '/style.css');
    for (const header of [tag, `"x", ${tag}`, `W/${tag}`, '*']) {
      const answer = await ask(of, '/style.css', { 'if-none-match': header });
      expect([answer.status, answer.body, answer.headers.etag]).toEqual([304, null, tag]);
      expect(answer.headers['cache-control']).toBeDefined();
      expect(answer.headers.vary).toBe('accept-encoding');
      expect(answer.headers['content-length']).toBeUndefined();
    }
    expect((await ask(of, '/style.css', { 'if-none-match': '"x"' })).status).toBe(200);
  });

  test('encodings have different tags', async () => {
    const of = site();
    const tag = await tagOf(of, '/style.css', { 'accept-encoding': 'br' });
    const again = { 'if-none-match': tag };
    expect((await ask(of, '/style.css', { ...again, 'accept-encoding': 'br' })).status).toBe(304);
    expect((await ask(of, '/style.css', { ...again, 'accept-encoding': 'gzip' })).status).toBe(200);
  });

  test('If-Match with another or a weak tag is 412', async () => {
    const of = site();
    const tag = await tagOf(of, '/style.css');
    expect((await ask(of, '/style.css', { 'if-match': tag })).status).toBe(200);
    expect((await ask(of, '/style.css', { 'if-match': '*' })).status).toBe(200);
    expect((await ask(of, '/style.css', { 'if-match': `W/${tag}` })).status).toBe(412);
    expect((await ask(of, '/style.css', { 'if-match': '"x"', 'if-none-match': tag })).status).toBe(412);
  });

  test('the page for missing paths is never 304', async () => {
    expect((await ask(site(), '/no', { 'if-none-match': '*', range: 'bytes=0-1' })).status).toBe(404);
  });
});

describe('range requests', () => {
  test('refer to the uncompressed file', async () => {
    const answer = await readAnswer(
      ask(site(), '/style.css', { range: 'bytes=0-3', 'accept-encoding': 'br' }),
    );
    expect(answer).toMatchObject({ status: 206, text: 'body' });
    expect(answer.headers).toMatchObject({
      'content-range': `bytes 0-3/${text.length}`,
      'content-length': '4',
    });
    expect(answer.headers['content-encoding']).toBeUndefined();
  });

  test('of large files are read from the store as ranges', async () => {
    for (const [path, letter] of [
      ['/large.bin', 'x'],
      ['/huge.bin', 'y'],
    ] as const) {
      const answer = await readAnswer(ask(site(), path, { range: 'bytes=-5' }));
      expect(answer).toMatchObject({ status: 206, text: letter.repeat(5) });
    }
  });

  test('and complete files above the cache limit are streamed', async () => {
    for (const headers of [{}, { range: 'bytes=1-' }]) {
      const { body } = await ask(site(), '/large.bin', headers as Record<string, string>);
      expect(body).toBeInstanceOf(ReadableStream);
      await (body as ReadableStream).cancel();
    }
  });

  test('beyond the end are 416 with the size', async () => {
    const answer = await ask(site(), '/style.css', { range: 'bytes=99-' });
    expect([answer.status, answer.headers['content-range']]).toEqual([416, `bytes */${text.length}`]);
  });

  test('that are multiple, in other units or invalid get the whole file', async () => {
    for (const range of ['bytes=0-1,3-4', 'lines=1-2', 'bytes=x'])
      expect(await readAnswer(ask(site(), '/style.css', { range }))).toMatchObject({ status: 200, text });
  });

  test('of a changed file get the whole file in the best encoding', async () => {
    const of = site();
    const tag = await tagOf(of, '/style.css');
    const range = { range: 'bytes=0-3', 'accept-encoding': 'br' };
    expect((await ask(of, '/style.css', { ...range, 'if-range': tag })).status).toBe(206);
    for (const ifRange of ['"x"', `W/${tag}`, 'Wed, 21 Oct 2015 07:28:00 GMT'])
      expect(await readAnswer(ask(of, '/style.css', { ...range, 'if-range': ifRange }))).toMatchObject({
        status: 200,
        text: 'BR',
      });
  });

  test('are ignored for HEAD', async () => {
    expect((await ask(site(), '/style.css', { range: 'bytes=0-3' }, 'HEAD')).status).toBe(200);
  });
});

describe('cached responses', () => {
  test('are synchronous and share their headers object', async () => {
    const of = site();
    const first = await ask(of, '/style.css');
    const second = ask(of, '/style.css');
    expect(second).not.toBeInstanceOf(Promise);
    expect((await second).headers).toBe(first.headers);
    expect(of.looks()).toBe(1);
  });

  test('304 and HEAD are always synchronous', () => {
    const of = site();
    expect(ask(of, '/style.css', { 'if-none-match': '*' })).not.toBeInstanceOf(Promise);
    expect(ask(of, '/', {}, 'HEAD')).not.toBeInstanceOf(Promise);
  });

  test('are not stored for other spellings of a path', async () => {
    const of = site();
    for (const path of ['/%73tyle.css', '/s%74yle.css'])
      expect(await readAnswer(ask(of, path))).toMatchObject({ status: 200, text });
    expect(of.release.prepared.at('/%73tyle.css')).toBeUndefined();
    expect(of.release.prepared.at('/style.css')).toBeUndefined();
    await ask(of, '/style.css');
    expect(of.release.prepared.at('/style.css')).toBeDefined();
  });

  test('of a single-page app are shared and not stored by path', async () => {
    const of = site({ spa: true });
    const [one, other] = [await ask(of, '/orders/1'), await ask(of, '/orders/2')];
    expect(one.headers).toBe(other.headers);
    expect(of.release.prepared.at('/orders/1')).toBeUndefined();
  });
});

describe('a missing path', () => {
  test("gets the site's own page with its header rules", async () => {
    const of = site({ headers: [{ path: '/*', headers: { 'X-Frame-Options': 'DENY' } }] });
    const answer = await readAnswer(ask(of, '/no/where'));
    expect(answer).toMatchObject({ status: 404, text: '<h1>nowhere</h1>' });
    expect(answer.headers['x-frame-options']).toBe('DENY');
  });

  test('is not cached by a rule for the path, and neither is the fallback page', async () => {
    const year = 'public, max-age=31536000, immutable';
    const of = site({ spa: true, headers: [{ path: '/*', headers: { 'Cache-Control': year, 'x-a': 'b' } }] });
    for (const path of ['/no.js', '/orders/1', '/.svc/no']) {
      const { headers } = await ask(of, path);
      expect([path, headers['cache-control'], headers['x-a']]).toEqual([
        path,
        'public, max-age=0, must-revalidate',
        'b',
      ]);
    }
    expect((await ask(of, '/style.css')).headers['cache-control']).toBe(year);
    expect((await ask(of, '/')).headers['cache-control']).toBe(year);
  });

  test('varies by Accept if the response depends on it', async () => {
    const varies = async (of: TestSite, path: string, accept: string) => {
      const { status, headers } = await ask(of, path, { accept });
      return `${status} ${headers.vary}`;
    };
    const of = site({ spa: true });
    expect(await varies(of, '/v1.2', 'text/html')).toBe('200 accept, accept-encoding');
    expect(await varies(of, '/v1.2', 'image/png')).toBe('404 accept');
    expect(await varies(of, '/orders', 'text/html')).toBe('200 accept-encoding');
    expect(await varies(site(), '/v1.2', 'text/html')).toBe('404 undefined');
    const bare = testSite({ 'index.html': 'home' }, { config: { spa: true } });
    expect(await varies(bare, '/v1.2', 'image/png')).toBe('404 accept');
  });

  test('is 404 although the page for missing paths exists under its own name', async () => {
    const of = site();
    expect(await readAnswer(ask(of, '/404'))).toMatchObject({ status: 200, text: '<h1>nowhere</h1>' });
    expect(await readAnswer(ask(of, '/no/where'))).toMatchObject({ status: 404, text: '<h1>nowhere</h1>' });
    expect(await readAnswer(ask(of, '/404'))).toMatchObject({ status: 200 });
  });

  test('gets a plain page if the site has none', async () => {
    const of = testSite({ 'index.html': 'home' });
    const answer = await readAnswer(ask(of, '/no'));
    expect([answer.status, answer.headers['content-type']]).toEqual([404, 'text/html; charset=utf-8']);
    expect(answer.text).not.toContain('home');
  });

  test('an invalid path is 400 and reveals nothing about the site', async () => {
    for (const path of ['/..%2f', '/a//b', '/%00', '/%'])
      expect((await ask(site({ spa: true }), path)).status).toBe(400);
  });

  test('platform paths never belong to a release, in any spelling', async () => {
    const of = testSite(
      { '.svc/auth': 'mine', '.svc': 'mine', 'index.html': 'home' },
      { config: { spa: true } },
    );
    for (const path of ['/.svc/auth', '/%2esvc/auth', '/.%73vc/auth', '/.svc', '/.svc/'])
      expect(await readAnswer(ask(of, path))).toMatchObject({ status: 404 });
  });
});

test('redirects keep the query and are not cached', async () => {
  const of = site({ redirects: [{ from: '/old/*', to: '/new/:splat', status: 302 }] });
  expect(await readAnswer(ask(of, '/old/a?b=c'))).toMatchObject({
    status: 302,
    location: '/new/a?b=c',
    text: '',
  });
  const canonical = await ask(of, '/index.html?a');
  expect([canonical.status, canonical.headers.location, canonical.headers['cache-control']]).toEqual([
    308,
    '/?a',
    'no-store',
  ]);
});

test('bytes missing in the store are an error', async () => {
  const of = testSite({ 'a.txt': 'a' });
  const file = of.release.files.get('a.txt')!;
  of.release.files.get('a.txt')!.blobId = 'gone';
  expect(file.blobId).toBe('gone');
  await expect(Promise.resolve(ask(of, '/a.txt'))).rejects.toThrow('unavailable');
});
