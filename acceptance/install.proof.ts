import { expect, test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import packageJson from '../package.json' with { type: 'json' };
import { run } from './support/commands.ts';
import { sharedServer, temporaryFolder } from './support/server.ts';

test('a person on another machine installs the command line from the server with one line', async () => {
  const { baseUrl } = await sharedServer();
  const home = temporaryFolder();
  const env = { HOME: home, npm_config_prefix: join(home, 'npm') };
  mkdirSync(env.npm_config_prefix);
  const script = await (await fetch(`${baseUrl}/install`)).text();
  const installed = await run(['sh'], { env, cwd: home, stdin: script });
  expect([installed.code, installed.stdout]).toEqual([
    0,
    expect.stringContaining(`Next: svc config set base-url ${baseUrl} && svc login`),
  ]);
  const svc = (...words: string[]) => run([join(home, 'npm', 'bin', 'svc'), ...words], { env, cwd: home });
  expect((await svc('config', 'set', 'base-url', baseUrl)).code).toBe(0);
  const { version } = packageJson;
  expect((await svc('version', '--json')).json()).toMatchObject({
    version,
    server: { base_url: baseUrl, version },
  });
  // Commands, schemas and libraries are loaded when they are needed.
  const unknown = await svc('apps', 'list', '--json');
  expect([unknown.code, unknown.stderr]).toEqual([3, expect.stringContaining('svc login')]);
  expect((await svc('schema', 'deploy')).code).toBe(0);
  const filtered = await svc('version', '--json', '--jq', '.version');
  expect(filtered.stdout.trim()).toContain(version);
});

test('npm installs the command line from the server, under a folder of the person', async () => {
  const { baseUrl } = await sharedServer();
  const home = temporaryFolder();
  const env = { HOME: home, npm_config_prefix: join(home, 'npm') };
  mkdirSync(env.npm_config_prefix);
  const installed = await run(['npm', 'i', '-g', `${baseUrl}/cli.tgz`], { env, cwd: home });
  expect([installed.code, installed.stdout]).toEqual([0, expect.stringMatching(/^added \d+ packages? /m)]);
  const svc = join(home, 'npm', 'bin', 'svc');
  const ran = await run([svc, 'version'], { env: { ...env, SVC_BASE_URL: baseUrl }, cwd: home });
  const { version } = packageJson;
  expect([ran.code, ran.stdout, ran.stderr]).toEqual([
    0,
    expect.stringMatching(new RegExp(`^svc ${version}\\b.*\nserver ${version} at ${baseUrl}\n$`)),
    '',
  ]);
});
