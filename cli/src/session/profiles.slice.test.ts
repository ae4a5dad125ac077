import { describe, expect, test } from 'bun:test';
import { useFakeServer } from '../../testing/fake-server.ts';
import { newFolder, runSvc, writeLogin } from '../../testing/run-svc.ts';
import { version } from '../version.ts';

const server = useFakeServer();

function onMachine() {
  const env: Record<string, string> = { SVC_CONFIG_DIR: newFolder() };
  const svc = (line: string, more: Record<string, string> = {}) =>
    runSvc(line.split(' '), { env: { ...env, ...more } });
  const json = async (line: string, more = {}) => JSON.parse((await svc(`${line} --json`, more)).out);
  return { dir: env.SVC_CONFIG_DIR ?? '', svc, json };
}

describe('profiles', () => {
  test('are added, listed, used and removed', async () => {
    const { svc, json } = onMachine();
    expect(await json('profiles list')).toEqual([
      { name: 'default', current: true, base_url: 'http://localhost:4400', tenant: null, logged_in: false },
    ]);
    expect((await svc('profiles add work --base-url https://svc.example/')).exit).toBe(0);
    expect((await svc('profiles use work')).out).toContain('https://svc.example');
    expect(await json('profiles list')).toMatchObject([{ name: 'work', current: true }]);
    expect(await json('profiles')).toEqual(await json('profiles list'));
    expect((await svc('profiles remove work')).exit).toBe(0);
    expect(await json('profiles list')).toMatchObject([{ name: 'default', current: true }]);
  });

  test('that are unknown, taken or misspelled are refused', async () => {
    const { svc } = onMachine();
    expect((await svc('profiles use nope')).exit).toBe(5);
    expect((await svc('profiles remove nope')).exit).toBe(5);
    await svc('profiles add work --base-url https://svc.example');
    expect((await svc('profiles add work --base-url https://other.example')).exit).toBe(6);
    expect((await svc('profiles add other --base-url nonsense')).exit).toBe(2);
    expect((await svc('profiles add .. --base-url https://svc.example')).exit).toBe(2);
  });

  test('that are removed are logged out at the server', async () => {
    const { dir, svc } = onMachine();
    await writeLogin(dir, server.url);
    server.oauth.tokens.add('access-1');
    expect((await svc('profiles remove default')).exit).toBe(0);
    expect(server.seen.map(({ path }) => path)).toContain('/oauth/token/revocation');
    expect(await Bun.file(`${dir}/credentials.json`).json()).toEqual({ profiles: {} });
  });
});

describe('config', () => {
  test('tells each setting and where it comes from', async () => {
    const { svc, json } = onMachine();
    await svc('config set base-url http://localhost:5000');
    await svc('config set output wide');
    expect(await json('config list', { SVC_TENANT: 'acme' })).toEqual([
      { key: 'profile', value: 'default', from: 'default' },
      { key: 'base-url', value: 'http://localhost:5000', from: 'profile default' },
      { key: 'tenant', value: 'acme', from: 'SVC_TENANT' },
      { key: 'output', value: 'wide', from: 'config.json' },
    ]);
    expect(await json('config')).toEqual(await json('config list'));
    expect((await svc('config get base-url')).out).toBe('http://localhost:5000\n');
    expect((await json('config unset base-url')).from).toBe('default');
    expect((await svc('config set output green')).exit).toBe(2);
    expect((await svc('config set colour green')).exit).toBe(2);
  });

  test('says when a variable overrides what was set', async () => {
    const { svc } = onMachine();
    const ran = await svc('config set base-url http://localhost:5000', {
      SVC_BASE_URL: 'http://localhost:1',
    });
    expect(ran.err).toContain('SVC_BASE_URL is set and overrides it.');
  });

  test('checks a tenant at the server', async () => {
    const { svc, json } = onMachine();
    const env = { SVC_BASE_URL: server.url, SVC_TOKEN: 'good' };
    expect((await svc('config set tenant acme', env)).exit).toBe(0);
    expect((await json('config list', { SVC_BASE_URL: server.url }))[2].from).toBe('profile default');
  });

  test('output wide makes tables show everything, and -o table as usual', async () => {
    const { svc } = onMachine();
    const env = { SVC_BASE_URL: server.url, SVC_TOKEN: 'good', SVC_TENANT: 'demo', COLUMNS: '60' };
    const usual = await svc('connectors list', env);
    await svc('config set output wide');
    const wide = await svc('connectors list', env);
    expect([usual.out.slice(0, 4), wide.out.slice(0, 4)]).toEqual(['SLUG', 'ID  ']);
    expect((await svc('connectors list -o table', env)).out).toBe(usual.out);
  });
});

describe('version', () => {
  test('names the version of the server, and a difference', async () => {
    const { svc, json } = onMachine();
    const env = { SVC_BASE_URL: server.url };
    const answer = (of: string) => {
      server.intercept = () => Response.json({ version: of });
    };
    answer(version);
    expect((await svc('version', env)).out).toBe(`svc ${version}\nserver ${version} at ${server.url}\n`);
    answer('0.0.1');
    const ran = await svc('version', env);
    expect([ran.exit, ran.err]).toEqual([0, expect.stringContaining('0.0.1 differ')]);
    expect(await json('version', env)).toMatchObject({ server: { version: '0.0.1' } });
  });

  test('does without a server', async () => {
    const { svc, json } = onMachine();
    const env = { SVC_BASE_URL: 'http://127.0.0.1:1' };
    const ran = await svc('version', env);
    expect([ran.exit, ran.out.split('\n')[0]]).toEqual([0, `svc ${version}`]);
    expect(await json('version --client', env)).toEqual({ version });
    const homeless = await runSvc(['version'], { env: { HOME: undefined } });
    expect([homeless.exit, homeless.out]).toEqual([0, `svc ${version}\n`]);
  });
});

test('the help lists commands by subject, each once', async () => {
  const { out } = await runSvc(['--help'], { env: { COLUMNS: '80' } });
  for (const title of ['Start', 'Build and run apps', 'Data', 'Access', 'This tool'])
    expect(out).toContain(`\n${title}\n`);
  expect(out).not.toContain('Other commands');
  expect(out.match(/^ {2}apps /gm)).toHaveLength(1);
  for (const line of out.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
});
