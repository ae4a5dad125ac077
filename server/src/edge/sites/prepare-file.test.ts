import { describe, expect, test } from 'bun:test';
import { mediaType } from '@svc/contract/media-types.ts';
import { isFingerprinted, prepareFile } from './prepare-file.ts';

import { testSite } from './testing.ts';

describe('a file name with a content hash', () => {
  test.each([
    'app.3f2a1b9c.js',
    'assets/app-3f2a1b9c0d.css',
    'main_0a1b2c3d4e5f6789.woff2',
    'a.3F2a1b9Kd0x.woff2',
    'app.3f2a1b9c.js.map',
    'chunk-DiwRg4Td.js',
    'index-B-9x_Zk2.css',
    'logo.8a7b6c5d.min.svg'.replace('.min', ''),
  ])('%s is cached for a year', (path) => expect(isFingerprinted(path)).toBe(true));

  test.each([
    'app.js',
    'jquery-3.7.1.js',
    'report-20240115.js',
    'deadbeef.js',
    'app-deadbeef.js',
    'app-1234567.js',
    'index.3f2a1b9c.html',
    'data.3f2a1b9c.json',
    'report-3f2a1b9c.pdf',
    'feed.3f2a1b9c.xml',
    '3f2a1b9c',
    'photo-Holiday2024.jpg',
    'team-MyPhoto2023.png',
    'logo-Version12.svg',
    'font-Regular.woff2',
    'Galaxy_S24Ultra.jpg',
    'store-iPhone15Pro.png',
    'clip-Take12Final.mp4',
    'map-Route66West.svg',
    'photo-24-Final.jpg',
    'app.3f2a1b9.js',
    'sw.js',
    'a3f2a1b9c.js',
    '.3f2a1b9c',
  ])('%s is revalidated', (path) => expect(isFingerprinted(path)).toBe(false));
});

test.each([
  ['index.html', 'text/html; charset=utf-8'],
  ['a/B.HTML', 'text/html; charset=utf-8'],
  ['app.js', 'text/javascript; charset=utf-8'],
  ['app.mjs', 'text/javascript; charset=utf-8'],
  ['app.js.map', 'application/json'],
  ['style.css', 'text/css; charset=utf-8'],
  ['lib.wasm', 'application/wasm'],
  ['font.woff2', 'font/woff2'],
  ['site.webmanifest', 'application/manifest+json'],
  ['photo.avif', 'image/avif'],
  ['drawing.svg', 'image/svg+xml; charset=utf-8'],
  ['notes.txt', 'text/plain; charset=utf-8'],
  ['feed.xml', 'application/xml; charset=utf-8'],
  ['LICENSE', 'application/octet-stream'],
  ['.html', 'application/octet-stream'],
  ['a.constructor', 'application/octet-stream'],
  ['constructor', 'application/octet-stream'],
  ['a.html/b', 'application/octet-stream'],
  ['.well-known/apple-app-site-association', 'application/json'],
])('%s has the media type %s', (path, type) => expect(mediaType(path)).toBe(type));

describe('headers of a file', () => {
  const headersOf = (
    options: Parameters<typeof testSite>[1] & {
      path?: string;
      status?: 200 | 404;
      rules?: Record<string, string>;
    },
  ) => {
    const { path = 'index.html', status = 200, rules = {} } = options;
    const site = testSite({ [path]: { text: 'whole', br: 'b' } }, options);
    return prepareFile(site.release.files.get(path)!, { site, rules, status });
  };

  test('pages are revalidated, and stored by shared caches only if they are public', () => {
    expect(headersOf({}).form('identity')?.headers['cache-control']).toBe(
      'public, max-age=0, must-revalidate',
    );
    expect(headersOf({ isOpen: false }).form('identity')?.headers['cache-control']).toBe(
      'private, max-age=0, must-revalidate',
    );
  });

  test('fingerprinted files are cached for a year', () => {
    const path = 'app.3f2a1b9c.js';
    expect(headersOf({ path }).form('br')?.headers['cache-control']).toBe(
      'public, max-age=31536000, immutable',
    );
    expect(headersOf({ path, isOpen: false }).form('br')?.headers['cache-control']).toBe(
      'private, max-age=31536000, immutable',
    );
  });

  test('rules of the site win, but never allow shared caches for restricted content', () => {
    const rules = {
      'cache-control': 'public, max-age=60, s-maxage=600',
      'x-a': 'b',
    };
    expect(headersOf({ rules }).form('identity')?.headers).toMatchObject(rules);
    const closed = headersOf({ rules, isOpen: false }).form('identity')?.headers;
    expect(closed).toMatchObject({ 'cache-control': 'private, max-age=60', 'x-a': 'b' });
  });

  test('each encoding has its own tag and length, and varies by Accept-Encoding', () => {
    const file = headersOf({});
    const [whole, br] = [file.form('identity')!, file.form('br')!];
    expect(whole.etag).toMatch(/^"[0-9a-f]{32}"$/);
    expect(br.etag).toBe(`${whole.etag.slice(0, -1)}-br"`);
    expect(whole.headers).toMatchObject({
      'content-length': '5',
      vary: 'accept-encoding',
      'accept-ranges': 'bytes',
    });
    expect(br.headers).toMatchObject({
      'content-length': '1',
      vary: 'accept-encoding',
      'content-encoding': 'br',
    });
    expect(br.headers['accept-ranges']).toBeUndefined();
    expect(file.form('gzip')).toBeNull();
  });

  test('headers are created once and frozen', () => {
    const file = headersOf({});
    expect(file.form('br')).toBe(file.form('br')!);
    expect(Object.isFrozen(file.form('br')?.headers)).toBe(true);
    expect(Object.isFrozen(file.form('br')?.unchangedHeaders)).toBe(true);
  });

  test('staging hosts always send noindex', () => {
    const staged = headersOf({ hostKind: 'staging', isOpen: false, rules: { 'x-robots-tag': 'all' } });
    expect(staged.form('identity')?.headers['x-robots-tag']).toBe('noindex, nofollow');
    expect(staged.form('identity')?.unchangedHeaders['x-robots-tag']).toBe('noindex, nofollow');
  });

  test('the page for missing paths has no tag', () => {
    expect(headersOf({ status: 404 }).form('identity')?.headers.etag).toBeUndefined();
  });
});
