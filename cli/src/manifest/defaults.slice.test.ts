import { describe, expect, test } from 'bun:test';
import { resolve } from 'node:path';
import { useFakeServer } from '../../testing/fake-server.ts';
import { folderWith, newFolder } from '../../testing/run-svc.ts';
import type { Command } from '../command.ts';
import { parseArgs } from '../framework/parse.ts';
import { svc as program } from '../registry.ts';

const server = useFakeServer();

const projectWith = (manifest: string) => folderWith({ 'svc.yaml': manifest, 'src/deep/a.ts': '' });
const svc = (cwd: string, line: string, env: Record<string, string | undefined> = {}) =>
  server.svc(line.split(' '), { cwd, env: { SVC_TENANT: undefined, ...env } });
const asked = () => server.seen.map(({ path }) => path);

describe('a command about an app', () => {
  test('takes app and tenant from svc.yaml, in its folder and below', async () => {
    const folder = projectWith('tenant: acme\napp: { slug: shop }\n');
    for (const cwd of [folder, `${folder}/src/deep`]) {
      expect((await svc(cwd, 'tables list')).exit).toBe(0);
    }
    expect(new Set(asked())).toEqual(new Set(['/api/v1/tenants/acme/apps/shop/tables']));
  });

  test('prefers the flag to svc.yaml, and the environment to its tenant', async () => {
    const folder = projectWith('tenant: acme\napp: { slug: shop }\n');
    await svc(folder, 'tables list --app other');
    await svc(folder, 'tables list --tenant mine');
    await svc(folder, 'tables list', { SVC_TENANT: 'theirs' });
    expect(asked()).toEqual([
      '/api/v1/tenants/acme/apps/other/tables',
      '/api/v1/tenants/mine/apps/shop/tables',
      '/api/v1/tenants/theirs/apps/shop/tables',
    ]);
  });

  test('reads no svc.yaml when all flags are given', async () => {
    const folder = projectWith('nonsense: true\n');
    expect((await svc(folder, 'tables list --app a --tenant b')).exit).toBe(0);
    expect((await svc(folder, 'tables list --app a')).exit).toBe(7);
    expect((await svc(folder, 'tables list --tenant b')).exit).toBe(7);
  });

  test('rejects an invalid svc.yaml before any request, with file, line and column', async () => {
    const folder = projectWith('name: a\n\napp:\n  slgu: b\n');
    const here = await svc(folder, 'tables list');
    expect([here.exit, here.out, asked()]).toEqual([7, '', []]);
    expect(here.err).toStartWith(
      'Error: svc.yaml:4:3: unknown key "slgu"; did you mean "slug"? (validation_failed)\nNext: ',
    );
    const below = await svc(`${folder}/src`, 'tables list --json');
    expect(JSON.parse(below.err)).toMatchObject({
      code: 'validation_failed',
      detail: `${folder}/svc.yaml:4:3: unknown key "slgu"; did you mean "slug"?`,
      errors: [{ field: 'app.slgu', line: 4, code: 'unknown_key' }],
    });
  });

  test('names the missing flags if there is no svc.yaml or it names no app', async () => {
    const bare = await svc(newFolder(), 'tables list --tenant a');
    expect([bare.exit, bare.err.split('\n')[0]]).toEqual([
      2,
      'Error: --app is required outside of a folder with svc.yaml. (usage)',
    ]);
    expect((await svc(newFolder(), 'tables grants list')).err).toContain('--app, --table are required');
    const nameless = await svc(projectWith('tenant: acme\n'), 'tables list');
    expect([nameless.exit, nameless.err.includes('names no app')]).toEqual([2, true]);
    expect(asked()).toEqual([]);
  });

  test('derives the slug from the name like the server', async () => {
    await svc(projectWith('name: Sales DB (EU)\n'), 'tables list --tenant acme');
    expect(asked()).toEqual(['/api/v1/tenants/acme/apps/sales-db-eu/tables']);
  });

  test('names the source of the values with --verbose only', async () => {
    const folder = projectWith('tenant: acme\napp: { slug: shop }\n');
    const listed = await svc(folder, 'tables list --verbose');
    expect(listed.err).toContain(`--app shop comes from ${folder}/svc.yaml.`);
    expect(listed.err).toContain(`--tenant acme comes from ${folder}/svc.yaml.`);
    expect((await svc(folder, 'tables list')).err).toBe('');
    expect((await svc(folder, 'tables list --app shop --tenant acme --verbose')).err).not.toContain(
      'svc.yaml',
    );
  });

  test('shows the line to execute with the flags that were typed', async () => {
    const folder = projectWith('tenant: acme\napp: { slug: shop }\n');
    expect((await svc(folder, 'tables drop pets')).out).toContain('svc tables drop pets --execute');
  });
});

test('a flag that is not required gets no default, and the file is not read', async () => {
  const app = { type: 'string', manifest: 'app', summary: 'App' } as const;
  const words: Pick<Command, 'words' | 'summary' | 'kind' | 'examples'> = {
    words: 'test',
    summary: 'A test',
    kind: 'read',
  };
  let read = 0;
  const manifest = async () => {
    read += 1;
    return { path: '/svc.yaml', app: 'shop', tenant: null };
  };
  const appOf = async (command: Command, ...tokens: string[]) =>
    Reflect.get((await parseArgs(program, command, tokens, { env: {}, manifest })).args.flags, 'app');
  expect(await appOf({ ...words, flags: { app } })).toBeUndefined();
  const either: Command = {
    ...words,
    flags: { app: { ...app, requiredUnless: ['early'] }, early: { type: 'boolean', summary: 'Early' } },
  };
  expect(await appOf(either, '--early')).toBeUndefined();
  expect(await appOf(either, '--app', 'mine')).toBe('mine');
  expect(read).toBe(0);
  expect(await appOf(either)).toBe('shop');
  expect(await appOf(either, '--early=false')).toBe('shop');
  expect(read).toBe(2);
});

test('commands without an app use the tenant of svc.yaml too', async () => {
  const folder = projectWith('tenant: acme\n');
  await svc(folder, 'grants mine --json');
  await svc(folder, 'rows list pets --app shop', { SVC_TOKEN: undefined, SVC_API_KEY: 'svcpat_x' });
  expect(asked()).toEqual(['/api/v1/tenants/acme/me/grants', '/data/acme/shop/pets']);
});

test.each(['nonsense: true\n', 'a: [', 'tenant: [x]\n'])(
  'commands without app and tenant work beside an invalid svc.yaml: %j',
  async (text) => {
    const folder = projectWith(text);
    const config = newFolder();
    const lines = [
      'whoami',
      'whoami --json',
      'tenants list',
      'tenants use demo',
      'version',
      '--version',
      'exit-codes',
      'schema tables list',
      'completion bash',
      'tables list --help',
    ];
    for (const line of lines) {
      const ran = await svc(folder, line, { SVC_CONFIG_DIR: config });
      expect([line, ran.exit, ran.out === '']).toEqual([line, 0, false]);
      const noted = line.startsWith('whoami');
      expect([line, ran.err.includes('svc.yaml:')]).toEqual([line, noted]);
    }
    const env = { SVC_TENANT: undefined, SVC_CONFIG_DIR: config, SVC_TOKEN: undefined };
    const login = await server.svc(['login', '--token-stdin'], { cwd: folder, env, input: 'good\n' });
    const logout = await server.svc(['logout'], { cwd: folder, env });
    expect([login.exit, logout.exit, (await svc(folder, 'tables list --app a')).exit]).toEqual([0, 0, 7]);
  },
);

test('help, completion and the schema show that --app is optional', async () => {
  const help = await svc('/nonexistent', 'tables list --help');
  expect(help.out).toContain('App id or slug (default from svc.yaml)');
  expect(help.out).toContain('svc tables list [flags]');
  const schema = JSON.parse((await svc('/nonexistent', 'schema tables list --json')).out);
  expect(schema.input.required).not.toContain('--app');
});

test('a command with an app from svc.yaml loads no schema library', async () => {
  const main = resolve(import.meta.dir, '../main.ts');
  const script = `
    process.argv = [process.argv[0], process.argv[1], 'tables', 'list'];
    const exit = process.exit;
    process.exit = (code) => {
      const loaded = [...Object.keys(require.cache), ...(globalThis.Loader?.registry?.keys() ?? [])];
      console.error(JSON.stringify({ code, loaded }));
      exit(0);
    };
    await import(${JSON.stringify(main)});`;
  const child = Bun.spawn([process.execPath, '-e', script], {
    cwd: `${projectWith('tenant: acme\nname: Shop\n')}/src`,
    env: { ...server.env, SVC_TENANT: undefined, PATH: process.env.PATH, HOME: newFolder() },
    stdout: 'ignore',
    stderr: 'pipe',
  });
  const { code, loaded } = JSON.parse(await new Response(child.stderr).text());
  expect([code, asked()]).toEqual([0, ['/api/v1/tenants/acme/apps/shop/tables']]);
  expect(loaded.some((path: string) => path.endsWith('document.ts'))).toBe(true);
  expect(
    loaded.filter((path: string) =>
      /zod|shapes\.ts|contract\/src\/all\.ts|cli\/src\/manifest\.ts/.test(path),
    ),
  ).toEqual([]);
});
