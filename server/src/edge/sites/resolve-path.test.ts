import { describe, expect, test } from 'bun:test';
import type { SiteConfig } from '@svc/contract/site-config.ts';
import fc from 'fast-check';
import { compileConfig } from './compile-config.ts';
import { readPath } from './path-pattern.ts';
import { type ReleaseFiles, type Resolved, resolvePath } from './resolve-path.ts';

import type { SiteFile } from './site-cache.ts';
import { testSite } from './testing.ts';

const filesOf = (paths: readonly string[]): ReadonlyMap<string, SiteFile> =>
  testSite(Object.fromEntries(paths.map((path) => [path, path]))).release.files;

function resolve(shown: ReleaseFiles, address: string, accept: string | null = null): Resolved | 'refused' {
  const mark = address.indexOf('?');
  const path = readPath(mark < 0 ? address : address.slice(0, mark));
  const search = mark < 0 ? '' : address.slice(mark + 1);
  return path ? resolvePath(shown, { path, search, accept: () => accept }) : 'refused';
}

/** The result in one line: `200 file`, `308 path` or `404`. */
function summary(resolved: Resolved | 'refused'): string {
  if (resolved === 'refused') return '400';
  if (resolved.kind === 'redirect') return `${resolved.status} ${resolved.location}`;
  return resolved.kind === 'missing' ? '404' : `200 ${resolved.file.path}`;
}

const settings = {
  'as the files lie': {},
  'with trailing_slash: true': { trailing_slash: true },
  'with trailing_slash: false': { trailing_slash: false },
  'without clean_urls': { clean_urls: false },
  'with trailing_slash: true, without clean_urls': { trailing_slash: true, clean_urls: false },
  'with trailing_slash: false, without clean_urls': { trailing_slash: false, clean_urls: false },
} satisfies Record<string, SiteConfig>;

/** The table in docs/guides/sites.md. `docs/` is a folder with an index, `about.html` a page, `both` is either, `app.js` a file. */
const files = filesOf([
  'index.html',
  '404.html',
  'about.html',
  'docs/index.html',
  'docs/start.html',
  'both.html',
  'both/index.html',
  'app.js',
  'plain',
  'plain.html',
]);
const table: Record<string, readonly [string, string, string, string, string, string]> = {
  '/': [
    '200 index.html',
    '200 index.html',
    '200 index.html',
    '200 index.html',
    '200 index.html',
    '200 index.html',
  ],
  '/index.html': ['308 /', '308 /', '308 /', '200 index.html', '200 index.html', '200 index.html'],
  '/index': ['308 /', '308 /', '308 /', '404', '404', '404'],
  '/about': ['200 about.html', '308 /about/', '200 about.html', '404', '404', '404'],
  '/about/': ['308 /about', '200 about.html', '308 /about', '404', '404', '404'],
  '/about.html': [
    '308 /about',
    '308 /about/',
    '308 /about',
    '200 about.html',
    '200 about.html',
    '200 about.html',
  ],
  '/about.html/': ['404', '404', '404', '404', '404', '404'],
  '/docs': [
    '308 /docs/',
    '308 /docs/',
    '200 docs/index.html',
    '308 /docs/',
    '308 /docs/',
    '200 docs/index.html',
  ],
  '/docs/': [
    '200 docs/index.html',
    '200 docs/index.html',
    '308 /docs',
    '200 docs/index.html',
    '200 docs/index.html',
    '308 /docs',
  ],
  '/docs/index.html': [
    '308 /docs/',
    '308 /docs/',
    '308 /docs',
    '200 docs/index.html',
    '200 docs/index.html',
    '200 docs/index.html',
  ],
  '/docs/index': ['308 /docs/', '308 /docs/', '308 /docs', '404', '404', '404'],
  '/docs/start': ['200 docs/start.html', '308 /docs/start/', '200 docs/start.html', '404', '404', '404'],
  '/both': [
    '200 both.html',
    '200 both.html',
    '200 both.html',
    '308 /both/',
    '308 /both/',
    '200 both/index.html',
  ],
  '/both/': [
    '200 both/index.html',
    '200 both/index.html',
    '200 both/index.html',
    '200 both/index.html',
    '200 both/index.html',
    '308 /both',
  ],
  '/both.html': [
    '308 /both',
    '200 both.html',
    '308 /both',
    '200 both.html',
    '200 both.html',
    '200 both.html',
  ],
  '/app.js': ['200 app.js', '200 app.js', '200 app.js', '200 app.js', '200 app.js', '200 app.js'],
  '/app.js/': ['404', '404', '404', '404', '404', '404'],
  '/plain': ['200 plain', '200 plain', '200 plain', '200 plain', '200 plain', '200 plain'],
  '/plain.html': [
    '200 plain.html',
    '308 /plain/',
    '200 plain.html',
    '200 plain.html',
    '200 plain.html',
    '200 plain.html',
  ],
  '/nothing': ['404', '404', '404', '404', '404', '404'],
  '/docs/../about': ['400', '400', '400', '400', '400', '400'],
};

describe('the canonical URL of a page', () => {
  for (const [at, [name, config]] of Object.entries(settings).entries()) {
    const shown = { files, config: compileConfig(config) };
    test.each(Object.entries(table).map(([address, row]) => [address, row[at]!] as const))(
      `${name}: %s → %s`,
      (address, expected) => expect(summary(resolve(shown, address))).toBe(expected),
    );
  }

  test('a redirect keeps the query', () => {
    const shown = { files, config: compileConfig({}) };
    expect(summary(resolve(shown, '/docs?a=b&c'))).toBe('308 /docs/?a=b&c');
    expect(summary(resolve(shown, '/about.html?x=%2F'))).toBe('308 /about?x=%2F');
  });

  test('a redirect encodes names', () => {
    const shown = { files: filesOf(['mit Ä & 100%/index.html']), config: compileConfig({}) };
    expect(summary(resolve(shown, '/mit%20%C3%84%20&%20100%25'))).toBe('308 /mit%20%C3%84%20%26%20100%25/');
  });

  test('another index file applies to each folder', () => {
    const shown = {
      files: filesOf(['home.html', 'a/home.html']),
      config: compileConfig({ index: 'home.html' }),
    };
    expect(summary(resolve(shown, '/'))).toBe('200 home.html');
    expect(summary(resolve(shown, '/a'))).toBe('308 /a/');
    expect(summary(resolve(shown, '/a/home.html'))).toBe('308 /a/');
  });

  test('a file named .html is an ordinary file', () => {
    const shown = { files: filesOf(['.html', 'a/.html']), config: compileConfig({}) };
    expect(summary(resolve(shown, '/.html'))).toBe('200 .html');
    expect(summary(resolve(shown, '/a/.html'))).toBe('200 a/.html');
    expect(summary(resolve(shown, '/a/'))).toBe('404');
  });
});

describe('rules of the configuration', () => {
  const shown = {
    files,
    config: compileConfig({
      redirects: [
        { from: '/about', to: '/docs/', status: 302 },
        { from: '/app.js', to: '/elsewhere', force: false },
        { from: '/missing/*', to: '/docs/:splat', status: 302, force: false },
        { from: '/shown/*', to: '/docs/start', status: 200 },
        { from: '/lost/*', to: '/nowhere', status: 200 },
        { from: '/plain', to: '/app.js', status: 200, force: false },
      ],
    }),
  };
  test.each([
    ['/about', '302 /docs/'],
    ['/app.js', '200 app.js'],
    ['/missing/start', '302 /docs/start'],
    ['/shown/a/b', '200 docs/start.html'],
    ['/lost/a', '404'],
    ['/plain', '200 plain'],
  ])('%s → %s', (address, expected) => expect(summary(resolve(shown, address))).toBe(expected));
});

describe('a single-page app', () => {
  const shown = { files, config: compileConfig({ spa: true }) };
  test.each([
    ['/orders/17', null, '200 index.html'],
    ['/orders/17/', null, '200 index.html'],
    ['/missing.js', '*/*', '404'],
    ['/missing.js', null, '404'],
    ['/users/a.b', 'text/html,application/xhtml+xml,*/*;q=0.8', '200 index.html'],
    ['/app.js', 'text/html', '200 app.js'],
    ['/about', 'text/html', '200 about.html'],
    ['/a/%2e%2e', 'text/html', '400'],
  ])('%s with Accept %s → %s', (address, accept, expected) =>
    expect(summary(resolve(shown, address, accept))).toBe(expected),
  );

  test('needs an index file', () => {
    const none = { files: filesOf(['app.js']), config: compileConfig({ spa: true }) };
    expect(summary(resolve(none, '/orders'))).toBe('404');
  });
});

const name = fc.constantFrom('a', 'b', 'index', 'about', 'c.js', 'index.html', 'a.html', 'b.html', '.html');
const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('/'));
const anyConfig = fc.record({
  clean_urls: fc.option(fc.boolean(), { nil: undefined }),
  trailing_slash: fc.option(fc.boolean(), { nil: undefined }),
  spa: fc.option(fc.boolean(), { nil: undefined }),
  index: fc.constantFrom(undefined, 'index.html', 'a.html'),
});

test('in any release a redirect leads directly to the file, and every file is accessible', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(path, { maxLength: 12 }),
      anyConfig,
      path,
      fc.boolean(),
      (paths, config, asked, slash) => {
        const shown = { files: filesOf(paths), config: compileConfig(config) };
        for (const address of [`/${asked}${slash ? '/' : ''}`, '/', ...paths.map((file) => `/${file}`)]) {
          const first = resolve(shown, address);
          if (first === 'refused') throw new Error(address);
          if (first.kind !== 'redirect') {
            if (first.kind === 'file') expect(candidates(address, config)).toContain(first.file.path);
            continue;
          }
          const second = resolve(shown, first.location);
          if (second === 'refused' || second.kind !== 'file')
            throw new Error(`${address} → ${first.location}`);
          expect(candidates(address, config)).toContain(second.file.path);
        }
        // Each file is found under its own name, directly or by a redirect.
        for (const file of paths) {
          const first = resolve(shown, `/${file}`);
          const last =
            first !== 'refused' && first.kind === 'redirect' ? resolve(shown, first.location) : first;
          expect(summary(last)).toBe(`200 ${file}`);
        }
      },
    ),
    { numRuns: 2_000 },
  );
});

/** The model: all files that a path may resolve to. */
function candidates(address: string, { index = 'index.html', clean_urls = true }: SiteConfig): string[] {
  const text = address.replace(/^\/|\/$/g, '');
  const below = text === '' ? index : `${text}/${index}`;
  return [...(address.endsWith('/') ? [] : [text]), below, ...(clean_urls ? [`${text}.html`] : [])];
}
