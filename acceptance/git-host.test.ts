import { beforeAll, describe, expect, test } from 'bun:test';
import { spawn } from 'node:child_process';
import { createHmac, createSign } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { TestBrowser } from '../server/src/identity/provider/browser-testing.ts';
import { admin, jsonOutput, svcFor } from './support/commands.ts';
import { openServerDatabase } from './support/database.ts';
import { caller, newPasswordUser, newTenant, type Person, type Tenant } from './support/people.ts';
import { type RunningServer, temporaryFolder } from './support/server.ts';
import { until } from './support/until.ts';

/** A token of the platform's own app at the built-in git host for a tenant, signed with its private key. */
async function installationToken(server: RunningServer, tenantSlug: string): Promise<string> {
  const database = openServerDatabase(server);
  const [row] = await database.query("select value from svc.key_generations where name = 'git_host.app'");
  await database.close();
  const { appId, privateKey } = JSON.parse(String(row?.value));
  const now = Math.floor(Date.now() / 1000);
  const part = (content: unknown) => Buffer.from(JSON.stringify(content)).toString('base64url');
  const claims = { iss: String(appId), iat: now - 30, exp: now + 300 };
  const text = `${part({ alg: 'RS256', typ: 'JWT' })}.${part(claims)}`;
  const jwt = `${text}.${createSign('RSA-SHA256').update(text).sign(privateKey, 'base64url')}`;
  const ask = async (method: string, path: string) => {
    const answer = await fetch(`${server.baseUrl}/git/api/v3${path}`, {
      method,
      headers: { authorization: `Bearer ${jwt}` },
    });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  };
  const { id } = await ask('GET', `/orgs/${tenantSlug}/installation`);
  return (await ask('POST', `/app/installations/${id}/access_tokens`)).token;
}
let tenant: Tenant;
let owner: Person;

beforeAll(async () => {
  tenant = await newTenant();
  owner = tenant.member;
});

/** A git client without a shell and without the configuration of this machine. */
function git(cwd: string, ...argv: string[]): Promise<{ code: number; out: string; err: string }> {
  const env = {
    PATH: process.env.PATH ?? '/usr/bin:/bin',
    HOME: cwd,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_TERMINAL_PROMPT: '0',
    GIT_AUTHOR_NAME: 'Ann',
    GIT_AUTHOR_EMAIL: 'ann@example.test',
    GIT_COMMITTER_NAME: 'Ann',
    GIT_COMMITTER_EMAIL: 'ann@example.test',
  };
  const { promise, resolve, reject } = Promise.withResolvers<{ code: number; out: string; err: string }>();
  const child = spawn('git', argv, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let [out, err] = ['', ''];
  child.stdout.on('data', (piece) => {
    out += piece;
  });
  child.stderr.on('data', (piece) => {
    err += piece;
  });
  child.once('error', reject);
  child.once('close', (code) => resolve({ code: code ?? -1, out: out.trim(), err }));
  return promise;
}

async function must(cwd: string, ...argv: string[]): Promise<string> {
  const { code, out, err } = await git(cwd, ...argv);
  expect([argv.join(' '), code, err]).toEqual([argv.join(' '), 0, err]);
  return out;
}

const api = (path: string) => `/git/api/v3${path}`;
const remote = (name: string, password: string) =>
  `${tenant.server.baseUrl.replace('://', `://git:${password}@`)}/git/${tenant.slug}/${name}.git`;

async function newRepo(name: string): Promise<string> {
  const made = await owner.call('POST', api(`/orgs/${tenant.slug}/repos`), { name, private: true });
  expect(made.status).toBe(201);
  const copy = join(temporaryFolder(), name);
  mkdirSync(copy);
  await must(copy, 'init', '--quiet', '--initial-branch=main');
  writeFileSync(join(copy, 'index.html'), '<h1>Hello</h1>');
  await must(copy, 'add', '--all');
  await must(copy, 'commit', '--quiet', '-m', 'First');
  return copy;
}

async function patWith(actions: string[]): Promise<string> {
  const made = await owner.call('POST', `${tenant.base}/pats`, { name: 'git', actions });
  return made.body.secret;
}

describe('the built-in git host', () => {
  test('accepts pushes and clones with a login or token, and refuses everybody else', async () => {
    const copy = await newRepo('site');
    await must(copy, 'push', '--quiet', remote('site', owner.token), 'main');
    const there = temporaryFolder();
    await must(there, 'clone', '--quiet', remote('site', await patWith(['code'])), 'all');
    expect(readFileSync(join(there, 'all', 'index.html'), 'utf8')).toBe('<h1>Hello</h1>');
    writeFileSync(join(copy, 'more.txt'), 'more');
    await must(copy, 'add', '--all');
    await must(copy, 'commit', '--quiet', '-m', 'Second');
    const forRows = remote('site', await patWith(['read', 'write', 'deploy']));
    expect((await git(copy, 'push', forRows, 'main')).err).toContain('403');
    expect((await git(copy, 'ls-remote', forRows)).err).toContain('403');
    await must(copy, 'push', '--quiet', remote('site', await patWith(['code'])), 'main');
    await must(join(there, 'all'), 'pull', '--quiet', remote('site', owner.token), 'main');
    expect(readdirSync(join(there, 'all'))).toContain('more.txt');
    for (const person of [tenant.outsider, tenant.admin])
      expect((await git(there, 'ls-remote', remote('site', person.token))).err).toContain('not found');
    expect((await git(there, 'ls-remote', remote('site', 'nobody'))).err).toContain('Authentication failed');
  });

  test('sends a signed webhook soon after a push', async () => {
    const heard: { event: string | null; signature: string | null; text: string }[] = [];
    const listener = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      async fetch(request) {
        const { headers } = request;
        const text = await request.text();
        heard.push({
          event: headers.get('x-github-event'),
          signature: headers.get('x-hub-signature-256'),
          text,
        });
        return new Response(null, { status: 202 });
      },
    });
    const copy = await newRepo('hooked');
    const hook = {
      config: { url: `http://127.0.0.1:${listener.port}/`, content_type: 'json', secret: 's3cret' },
    };
    // Only the platform creates hooks; people cannot make it call URLs of their choice.
    expect((await owner.call('POST', api(`/repos/${tenant.slug}/hooked/hooks`), hook)).status).toBe(403);
    const own = await installationToken(tenant.server, tenant.slug);
    const platform = caller(tenant.server, { authorization: `Bearer ${own}` });
    expect((await platform('POST', api(`/repos/${tenant.slug}/hooked/hooks`), hook)).status).toBe(201);
    await must(copy, 'push', '--quiet', remote('hooked', owner.token), 'main');
    const push = await until('the push is delivered', async () =>
      heard.find(({ event }) => event === 'push'),
    );
    expect(push.signature).toBe(`sha256=${createHmac('sha256', 's3cret').update(push.text).digest('hex')}`);
    expect(JSON.parse(push.text)).toMatchObject({
      ref: 'refs/heads/main',
      after: await must(copy, 'rev-parse', 'HEAD'),
      repository: { full_name: `${tenant.slug}/hooked` },
    });
    listener.stop(true);
  });

  test('a deleted repository is not found, and its folder is removed soon after', async () => {
    const folders = () => readdirSync(join(tenant.server.dataDir, 'git'));
    const before = new Set(folders());
    await newRepo('gone');
    const made = folders().filter((name) => !before.has(name));
    expect(made).toHaveLength(1);
    expect((await owner.call('DELETE', api(`/repos/${tenant.slug}/gone`))).status).toBe(204);
    expect((await git(temporaryFolder(), 'ls-remote', remote('gone', owner.token))).err).toContain(
      'not found',
    );
    await until('its folder is gone', async () => !folders().includes(made[0]!));
  });

  test('a repository that svc deletes is in no list and cannot be cloned', async () => {
    const svc = svcFor(tenant.server, { token: owner.token, tenant: tenant.slug });
    const repo = `${tenant.slug}/dropped`;
    const copy = await newRepo('dropped');
    await must(copy, 'push', '--quiet', remote('dropped', owner.token), 'main');
    const listed = async () => {
      const { items } = await jsonOutput(svc, 'git-host', 'installations', 'repos');
      return items.map(({ full_name }: { full_name: string }) => full_name);
    };
    const clone = () => git(temporaryFolder(), 'clone', '--quiet', remote('dropped', owner.token), 'all');
    expect([await listed(), (await clone()).code]).toEqual([expect.arrayContaining([repo]), 0]);
    const line = ['git-host', 'repos', 'delete', repo];
    expect([(await svc(line)).code, await listed()]).toEqual([0, expect.arrayContaining([repo])]);
    expect((await svc([...line, '--execute', '--yes'])).code).toBe(0);
    expect(await listed()).not.toContain(repo);
    expect(await clone()).toMatchObject({ code: 128, err: expect.stringContaining('not found') });
    expect((await svc([...line, '--execute', '--yes'])).code).toBe(5);
  });

  test('an account is linked by a code that a person approves on the page of the host', async () => {
    const { server, base } = tenant;
    const person = await newPasswordUser(server, tenant.slug);
    const { access_token } = await admin(server, ['tokens', 'issue', '--user', person.email]);
    const call = caller(server, { authorization: `Bearer ${access_token}` });
    const { body } = await call('POST', `${base}/git-host/link`);
    expect(body.verification_uri).toBe(`${server.baseUrl}/git/login/device`);
    const browser = new TestBrowser(server.baseUrl);
    let page = await browser.open(body.verification_uri);
    page = await browser.press(page, 'Sign in', { email: person.email, password: person.password });
    page = await browser.press(page, 'Continue', { user_code: body.user_code });
    expect(page.html).toContain(body.user_code);
    page = await browser.press(page, 'Approve');
    expect(page.html).toContain('Your git account is linked');
    const polled = await call('POST', `${base}/git-host/link/poll`, { device_code: body.device_code });
    expect(polled.body).toMatchObject({ status: 'linked', account: { kind: 'user' } });
    // The secrets that the platform stores appear in no log.
    expect(server.output()).not.toContain(body.device_code);
    expect(server.output()).not.toContain(body.user_code);
  });
});
