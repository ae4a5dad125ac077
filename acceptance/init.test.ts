import { beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../scripts/free-port.ts';
import { type Svc, svcFor } from './support/commands.ts';
import { violations } from './support/json-schema.ts';
import { folderOf } from './support/server.ts';
import { newWorld, type World } from './support/world.ts';

let world: World;
/** As the owner of the world's app, with the tenant from the command line or the folder. */
let svc: Svc;
let schema: Record<string, unknown>;

beforeAll(async () => {
  world = await newWorld();
  const { server } = world.tenant;
  svc = svcFor(server, { token: world.people.O.token });
  const published = await fetch(`${server.baseUrl}/schemas/svc.yaml.json`);
  expect([published.status, published.headers.get('content-type')]).toEqual([200, 'application/schema+json']);
  schema = (await published.json()) as Record<string, unknown>;
});

interface Made {
  path: string;
  created: boolean;
  manifest: Record<string, unknown>;
  evidence: { key: string; value: string; because: string }[];
}

const yamlOf = (folder: string) => Bun.YAML.parse(readFileSync(join(folder, 'svc.yaml'), 'utf8'));
const packageJson = (data: object) => ({ 'package.json': JSON.stringify({ name: 'shop', ...data }) });

describe('svc init', () => {
  test.each<[string, Record<string, string>, Record<string, unknown>]>([
    ['nothing', {}, { deploy: { method: 'docker' } }],
    ['a Dockerfile', { Dockerfile: 'FROM scratch\n' }, { deploy: { method: 'docker' } }],
    [
      'a compose file',
      { 'compose.yaml': 'services: {}\n' },
      { deploy: { method: 'compose', compose_file: 'compose.yaml' } },
    ],
    ['a page', { 'index.html': '<p>' }, { deploy: { method: 'static' }, static: { dir: '.' } }],
    [
      'a site generator',
      packageJson({ scripts: { build: 'astro build' }, dependencies: { astro: '5' } }),
      { deploy: { method: 'static' }, build: 'npm run build', static: { dir: 'dist' } },
    ],
    [
      'a bundler',
      {
        ...packageJson({ scripts: { build: 'vite build' }, devDependencies: { vite: '7' } }),
        'index.html': '',
        'pnpm-lock.yaml': '',
      },
      { deploy: { method: 'static' }, build: 'pnpm run build', static: { dir: 'dist' } },
    ],
    [
      'a server',
      packageJson({ scripts: { start: 'node server.js' }, dependencies: { express: '5' } }),
      { deploy: { method: 'docker' }, start: 'npm run start', health: '/' },
    ],
  ])('in a folder with %s writes what the published schema takes', async (_, files, expected) => {
    const folder = folderOf(files);
    const ran = await svc(['init', 'Web shop', '--json'], { cwd: folder });
    const { path, created, manifest, evidence } = ran.json<Made>();
    expect([ran.code, path, created]).toEqual([0, join(folder, 'svc.yaml'), true]);
    expect(manifest).toEqual({ name: 'Web shop', app: { slug: 'web-shop' }, ...expected });
    expect(yamlOf(folder)).toEqual(manifest);
    expect(violations(schema, yamlOf(folder))).toEqual([]);
    expect(evidence.map(({ key }) => key)).toContain('deploy.method');
    expect(readdirSync(folder).sort()).toEqual([...Object.keys(files), 'svc.yaml'].sort());
    const [first] = readFileSync(path, 'utf8').split('\n');
    expect(first).toBe(`# yaml-language-server: $schema=${schema.$id}`);
  });

  test('needs no server, no login and no preview', async () => {
    const folder = folderOf({});
    const env = { SVC_BASE_URL: `http://127.0.0.1:${freePort()}`, SVC_TOKEN: undefined };
    const ran = await svc(['init'], { cwd: folder, env });
    expect([ran.code, existsSync(join(folder, 'svc.yaml'))]).toEqual([0, true]);
    expect((await svc(['init', '--execute'], { cwd: folder, env })).code).toBe(2);
  });

  test('keeps an existing file: exit 6, unless --force is given', async () => {
    const folder = folderOf({ 'svc.yaml': 'name: mine\n' });
    const refused = await svc(['init', '--json'], { cwd: folder });
    expect([refused.code, refused.stdout, JSON.parse(refused.stderr).code]).toEqual([6, '', 'file_exists']);
    expect(readFileSync(join(folder, 'svc.yaml'), 'utf8')).toBe('name: mine\n');
    const printed = await svc(['init', 'Other', '--print'], { cwd: folder });
    expect([printed.code, yamlOf(folder)]).toEqual([0, { name: 'mine' }]);
    expect((await svc(['init', 'Other', '--force'], { cwd: folder })).code).toBe(0);
    expect(readFileSync(join(folder, 'svc.yaml'), 'utf8')).toBe(printed.stdout);
  });

  test('executes nothing of the folder', async () => {
    const trap = 'touch ran';
    const folder = folderOf({
      ...packageJson({
        scripts: { preinstall: trap, build: trap, start: trap },
        dependencies: { vite: '7' },
      }),
      'vite.config.js': "require('fs').writeFileSync('ran', '')",
      '.git/config':
        '[core]\n\tfsmonitor = touch ran\n\tsshCommand = touch ran\n[remote "origin"]\n\turl = x/shop\n',
      '.git/hooks/post-checkout': '#!/bin/sh\ntouch ran\n',
    });
    expect((await svc(['init'], { cwd: folder })).code).toBe(0);
    expect(readdirSync(folder)).not.toContain('ran');
  });
});

describe('in a folder with svc.yaml', () => {
  /** `svc init` for the world's app, and a folder below it. */
  async function initialised(): Promise<{ folder: string; below: string }> {
    const folder = folderOf({ 'src/deep/x': '' });
    const { app, tenant } = world;
    const line = ['init', 'Shop', '--slug', app.slug, '--tenant', tenant.slug];
    expect((await svc(line, { cwd: folder })).code).toBe(0);
    return { folder, below: join(folder, 'src/deep') };
  }

  test('commands need no --app and no --tenant, there and below', async () => {
    const { folder, below } = await initialised();
    const made = await svc(
      ['tables', 'create', 'init_pets', '--column', 'name:text', '--execute', '--json'],
      { cwd: below },
    );
    expect([made.code, made.stderr]).toEqual([0, '']);
    for (const cwd of [folder, below]) {
      const tables = await svc(['tables', 'list', '--json'], { cwd });
      expect(tables.json<{ items: { name: string }[] }>().items.map(({ name }) => name)).toContain(
        'init_pets',
      );
      const owners = await svc(['apps', 'co-owners', 'list', '--json'], { cwd });
      expect(owners.json<{ items: { user_id: string }[] }>().items.map((it) => it.user_id)).toContain(
        world.people.O.id,
      );
    }
    const rows = await svc(['rows', 'list', 'init_pets', '--json'], {
      cwd: below,
      env: { SVC_TOKEN: undefined, SVC_API_KEY: world.pat },
    });
    expect([rows.code, rows.json().data]).toEqual([0, []]);
    const listed = await svc(['tables', 'list', '--verbose'], { cwd: below });
    expect(listed.stderr).toContain(`--app ${world.app.slug} comes from ${join(folder, 'svc.yaml')}.`);
  });

  test('a flag overrides the file', async () => {
    const { folder } = await initialised();
    const other = await svc(['tables', 'list', '--app', 'no-such-app', '--json'], { cwd: folder });
    expect([other.code, JSON.parse(other.stderr).code]).toEqual([5, 'not_found']);
    const away = await svc(['tables', 'list', '--tenant', 'no-such-tenant', '--json'], { cwd: folder });
    expect([away.code, JSON.parse(away.stderr).code]).toEqual([5, 'not_found']);
    const env = await svc(['tables', 'list', '--json'], {
      cwd: folder,
      env: { SVC_TENANT: 'no-such-tenant' },
    });
    expect([env.code, JSON.parse(env.stderr).code]).toEqual([5, 'not_found']);
  });

  test('an unknown key is an error with its line, before any request: exit 7', async () => {
    const { folder, below } = await initialised();
    const path = join(folder, 'svc.yaml');
    const lines = readFileSync(path, 'utf8').split('\n').length;
    writeFileSync(path, 'biuld: make\n', { flag: 'a' });
    const env = { SVC_BASE_URL: `http://127.0.0.1:${freePort()}` };
    const here = await svc(['tables', 'list'], { cwd: folder, env });
    expect([here.code, here.stdout]).toEqual([7, '']);
    expect(here.stderr).toStartWith(
      `Error: svc.yaml:${lines}:1: unknown key "biuld"; did you mean "build"? (validation_failed)\n`,
    );
    const machine = await svc(['apps', 'co-owners', 'list', '--json'], { cwd: below, env });
    expect([machine.code, machine.stdout]).toEqual([7, '']);
    expect(JSON.parse(machine.stderr)).toMatchObject({
      code: 'validation_failed',
      errors: [{ field: 'biuld', line: lines, code: 'unknown_key' }],
    });
    expect(violations(schema, yamlOf(folder))).toEqual(['$.biuld is not expected']);
  });
});

describe('svc apps create --from-file', () => {
  test('accepts the svc.yaml of another folder, or standard input, with its tenant', async () => {
    const { tenant } = world;
    const slugs = [0, 1].map(() => `shop-${Bun.randomUUIDv7().slice(-12)}`);
    const text = (slug?: string) => `tenant: ${tenant.slug}\napp: { slug: ${slug} }\n`;
    const cwd = folderOf({ 'svc.yaml': 'tenant: no-such-tenant\n', 'other/svc.yaml': text(slugs[0]) });
    const create = ['apps', 'create', '--execute', '--json', '--from-file'];
    const file = await svc([...create, 'other/svc.yaml'], { cwd });
    const piped = await svc([...create, '-'], { cwd, stdin: text(slugs[1]) });
    expect([file.code, piped.code, file.stderr, piped.stderr]).toEqual([0, 0, '', '']);
    expect([file.json().slug, piped.json().slug]).toEqual(slugs);
    const refused = await svc([...create, 'other/svc.yaml', '--tenant', 'no-such-tenant'], { cwd });
    expect([refused.code, JSON.parse(refused.stderr).code]).toEqual([5, 'not_found']);
  });
});

test.if(process.platform === 'linux')('an endless svc.yaml does not block a command', async () => {
  const folder = folderOf({});
  symlinkSync('/dev/zero', join(folder, 'svc.yaml'));
  const ran = await svc(['tables', 'list'], { cwd: folder });
  expect([ran.code, ran.stdout]).toEqual([2, '']);
  expect(ran.stderr).toStartWith('Error: svc.yaml is not a regular file. (file_unreadable)');
  const who = await svc(['whoami', '--json'], { cwd: folder });
  expect([who.code, who.stderr.includes('svc.yaml is not a regular file')]).toEqual([0, true]);
});

describe('without svc.yaml', () => {
  test('--app is required: exit 2, before any request', async () => {
    const env = { SVC_BASE_URL: `http://127.0.0.1:${freePort()}` };
    for (const line of [
      ['tables', 'list'],
      ['apps', 'co-owners', 'list'],
    ]) {
      const ran = await svc(line, { cwd: folderOf({}), env });
      expect([line, ran.code, ran.stdout]).toEqual([line, 2, '']);
      expect(ran.stderr).toContain('--app is required outside of a folder with svc.yaml');
    }
  });

  test('a file above the root of the repository is ignored', async () => {
    const folder = folderOf({
      'svc.yaml': 'name: Outside\n',
      'repository/.git/HEAD': '',
      'repository/src/x': '',
    });
    expect((await svc(['tables', 'list'], { cwd: join(folder, 'repository/src') })).code).toBe(2);
  });
});
