import { describe, expect, test } from 'bun:test';
import { z } from 'zod';
import { Manifest, manifestJsonSchema } from './manifest.shapes.ts';
import { type ManifestKeys, manifestKeys } from './manifest.ts';

interface Schema {
  type?: string;
  description?: string;
  properties?: Record<string, Schema>;
  additionalProperties?: unknown;
  anyOf?: Schema[];
}

const schema = manifestJsonSchema({ baseUrl: 'http://localhost:4400' }) as Schema;

/** The keys of a schema in any of its forms; null if it has none or free ones. */
function keysOf({ properties, anyOf = [] }: Schema): ManifestKeys | null {
  if (properties === undefined) return anyOf.map(keysOf).find((keys) => keys !== null) ?? null;
  return Object.fromEntries(Object.entries(properties).map(([key, below]) => [key, keysOf(below)]));
}

describe('svc.yaml', () => {
  test('has the same keys in the list and in the schema', () => {
    expect(keysOf(schema)).toEqual(manifestKeys);
  });

  test('has a description for each key, and free keys only in env', () => {
    const look = (at: string, { properties, additionalProperties }: Schema): void => {
      if (properties === undefined) return;
      expect([at, additionalProperties]).toEqual([at, false]);
      for (const [key, below] of Object.entries(properties)) {
        expect([`${at}.${key}`, (below.description ?? '').length > 8]).toEqual([`${at}.${key}`, true]);
        look(`${at}.${key}`, below);
      }
    };
    look('$', schema);
    expect(schema.properties?.env?.additionalProperties).toMatchObject({ type: 'string' });
  });

  const whole = {
    name: 'Shop',
    tenant: 'acme',
    app: {
      slug: 'shop',
      subdomain: 'shop',
      summary: '',
      description: '',
      category: 'tools',
      auth_mode: 'bearer',
      data_scopes: ['sales'],
      resource_preset: 'M',
      icon_url: 'https://example.com/icons/0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b31',
      icon_dark_url: 'https://example.com/icons/0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b32',
    },
    deploy: {
      method: 'docker',
      dockerfile: 'docker/Dockerfile',
      compose_file: 'compose.yaml',
      branch: 'main',
    },
    build: { command: 'npm run build', dir: 'web' },
    release: 'npm run migrate',
    start: 'node server.js',
    instances: 2,
    processes: { worker: 'node worker.js', mailer: { command: 'node mail.js', instances: 0 }, old: false },
    sleep: '15m',
    health: { path: '/healthz', timeout: '5s' },
    timeouts: { first_byte: '5m' },
    schedules: [
      {
        name: 'nightly',
        cron: '30 2 * * MON-FRI',
        timezone: 'Europe/Berlin',
        run: 'node a.js',
        timeout: '5m',
      },
      { name: 'ping', cron: '*/15 * * * *', path: '/ping' },
    ],
    static: { dir: 'dist' },
    site: {
      index: 'index.html',
      spa: true,
      not_found: '404.html',
      clean_urls: true,
      trailing_slash: false,
      headers: [{ path: '/*', headers: { 'X-A': 'b' } }],
      redirects: [{ from: '/a', to: '/b', status: 301 as const }],
    },
    storage: { enabled: true },
    env: { LOG_LEVEL: 'info' },
  };

  test('accepts every key, an empty file and the short forms', () => {
    expect(Manifest.parse(whole)).toEqual(whole as Manifest);
    expect(Manifest.parse({})).toEqual({});
    expect(Manifest.parse({ build: 'make', health: '/' })).toEqual({ build: 'make', health: '/' });
    const branchesOf = (branches: unknown) => Manifest.parse({ previews: { branches } }).previews?.branches;
    expect(['feature/*', ['feature/*', '!wip/**'], true].map(branchesOf)).toEqual([
      ['feature/*'],
      ['feature/*', '!wip/**'],
      true,
    ]);
  });

  test.each([
    [{ name: '' }],
    [{ name: '   ' }],
    [{ name: 'x'.repeat(101) }],
    [{ name: 3 }],
    [{ biuld: 'make' }],
    [{ app: { slug: 'Shop' } }],
    [{ app: { slug: 'a' } }],
    [{ app: { slug: 'search' } }],
    [{ app: { slug: 'abcdefab-abcd-abcd-abcd-abcdefabcdef' } }],
    [{ app: { summary: 'a\nb' } }],
    [{ app: { icon_url: 'a b' } }],
    [{ app: { resource_preset: 'XXL' } }],
    [{ deploy: { method: 'wasm' } }],
    [{ deploy: { dockerfile: '/etc/Dockerfile' } }],
    [{ static: { dir: '../dist' } }],
    [{ static: { dir: 'a/../../dist' } }],
    [{ static: { dir: 'a\\b' } }],
    [{ static: { dir: 'a\u0000b' } }],
    [{ build: { install: true } }],
    [{ build: ['make'] }],
    [{ health: 'healthz' }],
    [{ health: { path: '/', timeout: '5' } }],
    [{ health: { path: '/', timeout: '11m' } }],
    [{ timeouts: { first_byte: '11m' } }],
    [{ instances: 0 }],
    [{ instances: 11 }],
    [{ instances: 1.5 }],
    [{ processes: { web: 'node a.js' } }],
    [{ processes: { release: 'node a.js' } }],
    [{ processes: { 'a b': 'node a.js' } }],
    [{ processes: { worker: { command: 'a', instances: 11 } } }],
    [{ processes: { worker: { instances: 2 } } }],
    [{ sleep: '4m' }],
    [{ sleep: '25h' }],
    [{ sleep: '900' }],
    [{ health: { path: '/', timeout: '999999m' } }],
    [{ release: true }],
    [{ previews: { branches: 'a branch' } }],
    [{ previews: { branches: [] } }],
    [{ schedules: [{ name: 'a', cron: '* * * * *' }] }],
    [{ schedules: [{ name: 'a', cron: '* * * * *', run: 'b', path: '/b' }] }],
    [{ schedules: [{ name: 'a', cron: '* * * * * *', run: 'b' }] }],
    [{ schedules: [{ name: 'a', cron: '@daily', run: 'b' }] }],
    [{ schedules: [{ name: 'A b', cron: '* * * * *', run: 'b' }] }],
    [{ schedules: [{ name: 'a', cron: '* * * * *', run: 'b', timezone: 'Moon/Base' }] }],
    [{ schedules: [{ name: 'a', cron: '* * * * *', run: 'b', timeout: '1441m' }] }],
    [{ schedules: [1, 2].map(() => ({ name: 'a', cron: '* * * * *', run: 'b' })) }],
    [{ site: { headers: [{ path: '/*', headers: { 'Set-Cookie': 'a=b' } }] } }],
    [{ site: { redirects: [{ from: '/a', to: '//b' }] } }],
    [{ storage: { enabled: 'yes' } }],
    [{ env: { 'A-B': 'c' } }],
    [{ env: { A: 1 } }],
  ])('refuses %j', (value) => {
    expect(Manifest.safeParse(value).success).toBe(false);
  });

  test.each(['.', 'dist', 'a/b', '..a', 'a..b', '.output/public'])('%s is a folder inside', (dir) => {
    expect(Manifest.safeParse({ static: { dir } }).success).toBe(true);
  });

  test('counts characters, not UTF-16 units', () => {
    expect(Manifest.safeParse({ name: '🐕'.repeat(100) }).success).toBe(true);
  });

  test('has a JSON Schema that accepts a complete file', () => {
    const read = z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]);
    expect(read.safeParse(whole).success).toBe(true);
    expect(read.safeParse({ ...whole, biuld: '' }).success).toBe(false);
  });
});
