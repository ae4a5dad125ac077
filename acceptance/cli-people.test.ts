import { beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { run, type Svc, svcFor } from './support/commands.ts';
import { git, newEmptyRepository, remoteOf } from './support/git.ts';
import { newTenant, type Tenant } from './support/people.ts';
import { root, temporaryFolder } from './support/server.ts';
import { onTerminal } from './support/terminal.ts';

let tenant: Tenant;
let svc: Svc;
let env: Record<string, string>;

beforeAll(async () => {
  tenant = await newTenant();
  const { token } = tenant.admin;
  svc = svcFor(tenant.server, { token, tenant: tenant.slug });
  env = {
    SVC_BASE_URL: tenant.server.baseUrl,
    SVC_TOKEN: token,
    SVC_TENANT: tenant.slug,
    SVC_CONFIG_DIR: join(temporaryFolder(), 'config'),
    PATH: `${root}:${process.env.PATH}`,
    LANG: 'C.UTF-8',
  };
  const slugs = ['orders', 'the-inventory-of-all-warehouses'];
  for (const slug of slugs) {
    const made = await svc([
      'connectors',
      'create',
      '--name',
      `Name of ${slug}`,
      '--slug',
      slug,
      '--kind',
      'http',
      '--execute',
    ]);
    expect(made.code).toBe(0);
  }
  expect(
    (await svc(['apps', 'create', '--slug', 'pet-shop', '--deploy-method', 'static', '--execute'])).code,
  ).toBe(0);
});

describe('a terminal', () => {
  test.each([60, 80, 120])('of %d columns shows tables that fit, with whole names', async (cols) => {
    for (const words of [
      'connectors list',
      'members list',
      'apps list',
      'presets list',
      'audit list',
      'pats list',
    ]) {
      const screen = onTerminal([join(root, 'svc'), ...words.split(' ')], env, { cols });
      expect([words, await screen.exited]).toEqual([words, 0]);
      const table = screen
        .shown()
        .split(/\r?\n/)
        .filter((line) => !line.startsWith('Not shown') && !line.startsWith('Showing'));
      for (const line of table) expect([line, Bun.stringWidth(line) <= cols]).toEqual([line, true]);
      if (words === 'connectors list') expect(screen.shown()).toContain('the-inventory-of-all-warehouses');
      if (words === 'audit list') expect(screen.shown()).toMatch(/just now|minutes? ago/);
    }
  });

  test('asks before a repository is deleted, which then is gone', async () => {
    const repo = await newEmptyRepository(tenant, tenant.admin);
    const preview = await svc(['git-host', 'repos', 'delete', repo, '--json']);
    expect(preview.json()).toMatchObject({ dry_run: true, plan: { irreversible: true } });
    const line = [join(root, 'svc'), 'git-host', 'repos', 'delete', repo, '--execute'];
    const refusing = onTerminal(line, env);
    await refusing.sees('Execute this plan?');
    refusing.type('n');
    expect(await refusing.exited).toBe(11);
    const cloned = () => git(['ls-remote', remoteOf(tenant, tenant.admin, repo)], temporaryFolder());
    expect((await cloned()).code).toBe(0);
    const agreeing = onTerminal(line, env);
    await agreeing.sees('Execute this plan?');
    agreeing.type('y');
    expect(await agreeing.exited).toBe(0);
    expect((await cloned()).code).not.toBe(0);
    expect((await svc(['git-host', 'repos', 'delete', repo, '--execute'])).code).toBe(5);
  });
});

test('a repository of somebody else is not deleted', async () => {
  const repo = await newEmptyRepository(tenant, tenant.admin);
  const other = svcFor(tenant.server, { token: tenant.member.token, tenant: tenant.slug });
  expect((await other(['git-host', 'repos', 'delete', repo, '--execute'])).code).toBeOneOf([4, 5]);
  expect((await svc(['git-host', 'repos', 'delete', repo])).code).toBe(0);
});

test('bash completes names of the server', async () => {
  const complete = (line: string) =>
    run(
      [
        'bash',
        '-c',
        `eval "$(svc completion bash)"; COMP_WORDS=(${line}); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _svc_complete; printf '%s\\n' "\${COMPREPLY[@]}"`,
      ],
      { env },
    );
  expect((await complete('svc apps get pet')).stdout.trim()).toBe('pet-shop');
  expect((await complete('svc grants create --connector ord')).stdout.trim()).toBe('orders');
});

test('svc version names the version of the server, which is the same', async () => {
  const ran = await svc(['version', '--json']);
  const { version, server } = ran.json<{ version: string; server: { version: string } }>();
  expect([server.version, ran.stderr]).toEqual([version, '']);
});

test('--jq, CSV and chosen columns show the same connectors', async () => {
  const list = async (...flags: string[]) => (await svc(['connectors', 'list', ...flags])).stdout;
  const slugs = (await list('--jq', '.items | sort_by(.slug)[].slug')).trim().split('\n');
  expect(slugs).toEqual(['orders', 'the-inventory-of-all-warehouses']);
  expect((await list('-o', 'csv', '--columns', 'slug', '--no-headers')).trim().split('\r\n').sort()).toEqual(
    slugs,
  );
  expect((await list('--columns', 'slug', '--no-headers')).trim().split('\n').sort()).toEqual(slugs);
});

test('a rejected value is named by its flag', async () => {
  const ran = await svc(['apps', 'update', 'pet-shop', '--summary', 'x'.repeat(61), '--json']);
  const { errors, next } = JSON.parse(ran.stderr);
  expect([ran.code, errors[0].flag, next.argv]).toEqual([
    7,
    '--summary',
    ['svc', 'apps', 'update', '--help'],
  ]);
});
