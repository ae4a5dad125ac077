import { describe, expect, test } from 'bun:test';
import { type HostingFiles, readHostingFiles, withHostingRules } from './hosting-files.shapes.ts';
import { SiteConfig } from './site-config.shapes.ts';

function rulesOf(files: HostingFiles) {
  const { config, unsupported } = readHostingFiles(files, Bun.TOML.parse);
  expect(SiteConfig.safeParse(config).error).toBeUndefined();
  return { ...config, unsupported };
}

describe('_redirects', () => {
  test('a line is a redirect where there is no file, with ! also where there is one', () => {
    const redirects = `
# moved
/old            /new
/a/:id          /b/:id          302
/gone           https://example.com/there  308!   # with a comment
`;
    expect(rulesOf({ _redirects: redirects })).toEqual({
      redirects: [
        { from: '/old', to: '/new', status: 301, force: false },
        { from: '/a/:id', to: '/b/:id', status: 302, force: false },
        { from: '/gone', to: 'https://example.com/there', status: 308, force: true },
      ],
      unsupported: [],
    });
  });

  test('a path with * is also the path without what is below it', () => {
    expect(rulesOf({ _redirects: '/blog/* /news/:splat' }).redirects).toEqual([
      { from: '/blog/*', to: '/news/:splat', status: 301, force: false },
      { from: '/blog', to: '/news', status: 301, force: false },
    ]);
  });

  test('status 200 shows another file, for all paths it is the fallback of a single-page app', () => {
    expect(rulesOf({ _redirects: '/app/* /app/index.html 200\n/* /index.html 200' })).toEqual({
      spa: true,
      redirects: [
        { from: '/app/*', to: '/app/index.html', status: 200, force: false },
        { from: '/app', to: '/app/index.html', status: 200, force: false },
      ],
      unsupported: [],
    });
    expect(rulesOf({ _redirects: '/* /missing.html 404' })).toEqual({
      not_found: 'missing.html',
      unsupported: [],
    });
  });

  test('what is not supported is named with its line', () => {
    const redirects = [
      '/api/* https://api.example.com/:splat 200',
      '/ /de 302 Language=de',
      '/search q=:q /find/:q',
      '/broken',
      '/a/*/b /c',
      '/old /new 410',
    ].join('\n');
    const { unsupported, ...config } = rulesOf({ _redirects: redirects });
    expect(config).toEqual({});
    expect(unsupported).toEqual([
      'line 1 of _redirects: requests are not passed on to other hosts',
      'line 2 of _redirects: Language=de is not supported',
      'line 3 of _redirects: q=:q is not supported',
      'line 4 of _redirects: has no target',
      'line 5 of _redirects: from may have * as its last part only',
      'line 6 of _redirects: the status 410 is not supported',
    ]);
  });
});

describe('_headers', () => {
  test('headers are set by path, a repeated one has both values', () => {
    const headers =
      '/*\n  X-Frame-Options: DENY\n  Link: <a>\n  link: <b>\n/assets/*\n  Cache-Control: max-age=60\n';
    expect(rulesOf({ _headers: headers })).toEqual({
      headers: [
        { path: '/*', headers: { 'X-Frame-Options': 'DENY', Link: '<a>, <b>' } },
        { path: '/assets/*', headers: { 'Cache-Control': 'max-age=60' } },
      ],
      unsupported: [],
    });
  });

  test('a header that cannot be set is named, and passwords are never sent', () => {
    const headers = '/*\n  Set-Cookie: a=b\n  Basic-Auth: ada:secret\n  nonsense\n';
    expect(rulesOf({ _headers: headers })).toEqual({
      unsupported: [
        'line 2 of _headers: Set-Cookie cannot be set',
        'line 3 of _headers: Basic-Auth is not supported',
        'line 4 of _headers: is not a header',
      ],
    });
  });
});

test('netlify.toml: redirects and headers are applied, functions are named', () => {
  const netlify = `
[[redirects]]
  from = "/old"
  to = "/new"
  force = true
[[redirects]]
  from = "/x"
  to = "/y"
  conditions = { Country = ["de"] }
[[headers]]
  for = "/*"
  [headers.values]
    X-One = "1"
    X-Two = ["a", "b"]
[functions]
  directory = "x"
`;
  expect(rulesOf({ 'netlify.toml': netlify })).toEqual({
    redirects: [{ from: '/old', to: '/new', status: 301, force: true }],
    headers: [{ path: '/*', headers: { 'X-One': '1', 'X-Two': 'a, b' } }],
    unsupported: [
      'redirects[1] of netlify.toml: conditions is not supported',
      'functions of netlify.toml: is not supported',
    ],
  });
});

test('vercel.json: redirects, rewrites, headers and the form of URLs are applied', () => {
  const vercel = {
    cleanUrls: true,
    trailingSlash: false,
    redirects: [
      { source: '/old/:path*', destination: '/new/:path*', permanent: true },
      { source: '/one', destination: '/two' },
      { source: '/post-(\\d+)', destination: '/p' },
      { source: '/x', destination: '/y', has: [{ type: 'host', value: 'a' }] },
    ],
    rewrites: [{ source: '/(.*)', destination: '/index.html' }],
    headers: [
      { source: '/assets/(.*)', headers: [{ key: 'Cache-Control', value: 'max-age=60' }] },
      { source: '/x', headers: [], missing: [{ type: 'cookie', key: 'a' }] },
    ],
    functions: {},
  };
  expect(rulesOf({ 'vercel.json': JSON.stringify(vercel) })).toEqual({
    spa: true,
    clean_urls: true,
    trailing_slash: false,
    redirects: [
      { from: '/old/*', to: '/new/:splat', status: 308, force: true },
      { from: '/old', to: '/new', status: 308, force: true },
      { from: '/one', to: '/two', status: 307, force: true },
    ],
    headers: [{ path: '/assets/*', headers: { 'Cache-Control': 'max-age=60' } }],
    unsupported: [
      'redirects[2] of vercel.json: the path /post-(\\d+) is not supported',
      'redirects[3] of vercel.json: has is not supported',
      'headers[1] of vercel.json: missing is not supported',
      'functions of vercel.json: is not supported',
    ],
  });
});

test('every other key of netlify.toml and vercel.json is named, except those for development', () => {
  const netlify = `
[build]
  command = "make"
  publish = "out"
  base = "web"
  ignore = "exit 1"
  functions = "lambda"
[build.environment]
  NODE_VERSION = "22"
[context.production]
  command = "make production"
[context.deploy-preview.environment]
  DEBUG = "1"
[dev]
  port = 3000
[images]
  remote_images = ["https://example.com/.*"]
[[headers]]
  for = "/*"
  conditions = "none"
  [headers.values]
    X-One = "1"
`;
  const vercel = {
    $schema: 'https://openapi.vercel.sh/vercel.json',
    version: 2,
    framework: null,
    installCommand: 'npm ci',
    buildCommand: 'make',
    devCommand: 'make dev',
    outputDirectory: 'out',
    env: { A: '1' },
    build: { env: { B: '2' } },
    ignoreCommand: 'exit 1',
    images: { sizes: [256] },
    regions: ['fra1'],
  };
  const files = { 'netlify.toml': netlify, 'vercel.json': JSON.stringify(vercel) };
  expect(rulesOf(files)).toEqual({
    headers: [{ path: '/*', headers: { 'X-One': '1' } }],
    unsupported: [
      'headers[0] of netlify.toml: conditions is not supported',
      'build.ignore of netlify.toml: is not supported',
      'build.functions of netlify.toml: is not supported',
      'build.environment of netlify.toml: is not supported',
      'context.production of netlify.toml: is not supported',
      'context.deploy-preview of netlify.toml: is not supported',
      'images of netlify.toml: is not supported',
      'env of vercel.json: is not supported',
      'build.env of vercel.json: is not supported',
      'ignoreCommand of vercel.json: is not supported',
      'images of vercel.json: is not supported',
      'regions of vercel.json: is not supported',
    ],
  });
});

test('each rule that is applied is named once', () => {
  const files = {
    _redirects: '/blog/* /news/:splat\n/* /index.html 200\n/bad\n',
    _headers: '/*\n  X-One: 1\n',
    'vercel.json': JSON.stringify({ cleanUrls: true, redirects: [{ source: '/a', destination: '/b' }] }),
  };
  expect(readHostingFiles(files, Bun.TOML.parse).applied).toEqual([
    'line 1 of _redirects',
    'line 2 of _redirects',
    'line 2 of _headers',
    'redirects[0] of vercel.json',
    'cleanUrls of vercel.json',
  ]);
});

test('settings of svc.yaml win over those of the files', () => {
  const own = { spa: false, redirects: [{ from: '/a', to: '/mine' }] };
  const found = readHostingFiles({ _redirects: '/a /theirs\n/* /index.html 200' }, Bun.TOML.parse);
  expect(withHostingRules(own, found)).toEqual({
    spa: false,
    redirects: [
      { from: '/a', to: '/mine' },
      { from: '/a', to: '/theirs', status: 301, force: false },
    ],
  });
});

test('files with anything else in them are named or ignored', () => {
  for (const odd of ['null', '[]', '1', '{"redirects":"x","headers":[null,1],"rewrites":{}}'])
    expect(rulesOf({ 'vercel.json': odd }).redirects).toBeUndefined();
  expect(rulesOf({ 'vercel.json': '{', 'netlify.toml': 'a = ' }).unsupported).toEqual([
    'netlify.toml: is not valid',
    'vercel.json: is not valid',
  ]);
});
