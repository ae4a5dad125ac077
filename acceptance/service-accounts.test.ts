import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { githubClaims, gitlabClaims, type OidcIssuer, startOidcIssuer } from '../scripts/oidc-issuer.ts';
import { nodeApp } from './support/apps.ts';
import { type Svc, svcFor } from './support/commands.ts';
import { type App, caller, done, newApp } from './support/people.ts';
import { folderOf, startServer, temporaryFolder } from './support/server.ts';
import { until } from './support/until.ts';
import { newWorld, type World } from './support/world.ts';

let world: World;
let issuer: OidcIssuer;
let gitlabIssuer: OidcIssuer;
let asOwner: Svc;
let app: App;

beforeAll(async () => {
  [issuer, gitlabIssuer] = await Promise.all([startOidcIssuer('', 'github'), startOidcIssuer('', 'gitlab')]);
  const trusted = `${issuer.issuer},${gitlabIssuer.issuer}`;
  const server = await startServer({ env: { SVC_TRUSTED_ISSUERS: trusted } });
  world = await newWorld(server);
  asOwner = svcFor(server, { token: world.people.O.token, tenant: world.tenant.slug });
  app = await newApp(world.tenant, { owner: world.people.O }, { deploy_method: 'docker' });
});
afterAll(() => Promise.all([issuer?.stop(), gitlabIssuer?.stop()]));

const accounts = (...words: string[]) => asOwner(['service-accounts', ...words, '--app', app.slug]);
const created = async (name: string, actions: string) =>
  (await accounts('create', name, '--actions', actions, '--execute', '--json')).json<{ id: string }>();

/** `svc` of a program without a login, as in a CI job. */
const job = (env: Record<string, string>): Svc => {
  const svc = svcFor(world.tenant.server, { token: '', tenant: '' });
  const config = temporaryFolder();
  return (args, options = {}) =>
    svc(args, {
      ...options,
      env: { SVC_TOKEN: '', SVC_TENANT: '', SVC_CONFIG_DIR: config, ...env, ...options.env },
    });
};

describe('a token of a service account', () => {
  test('migrates and deploys its app as CI would, and can do nothing else', async () => {
    await created('ci', 'tables,deploy');
    const token = ['tokens', 'create', 'ci', '--name', 'nightly', '--expires-in-days', '7'];
    const preview = await accounts(...token);
    expect(preview.stdout).toContain("Create, change and delete the app's tables, columns and indexes.");
    const { secret, expires_at } = (await accounts(...token, '--execute', '--json')).json<{
      secret: string;
      expires_at: string;
    }>();
    expect(Date.parse(expires_at) - Date.now()).toBeLessThanOrEqual(7 * 24 * 3600 * 1000);
    const ci = job({ SVC_TOKEN: secret, SVC_TENANT: world.tenant.slug });
    const inApp = (...args: string[]) => ci([...args, '--app', app.slug]);

    const columns = ['--column', 'name:text', '--execute'];
    expect((await inApp('tables', 'create', 'pets', ...columns)).code).toBe(0);
    expect(
      (await inApp('tables', 'columns', 'add', 'pets', '--column', 'age:int:nullable', '--execute')).code,
    ).toBe(0);
    const deployed = await inApp('deploy', '--from-dir', folderOf(nodeApp('one')), '--execute', '--json');
    expect([deployed.code, deployed.json<{ state: string }>().state]).toEqual([0, 'live']);

    const rows = await inApp('rows', 'list', 'pets');
    expect([rows.code, rows.stderr]).toEqual([5, expect.stringContaining('its own app only')]);
    expect((await inApp('apps', 'storage', 'ls')).code).toBe(4);
    expect((await inApp('env', 'list')).code).toBe(3);
    expect((await inApp('service-accounts', 'list')).code).toBe(3);
    const other = await newApp(world.tenant, { owner: world.people.O });
    const elsewhere = await ci(['tables', 'create', 'pets', '--app', other.slug, ...columns]);
    expect([elsewhere.code, elsewhere.stderr]).toEqual([5, expect.stringContaining('its own app only')]);

    const audit = await done(world.people.O.call('GET', `${app.base}/audit`));
    const entry = audit.items.find((it: { action: string }) => it.action === 'tables.create');
    expect(entry.actor).toMatchObject({
      kind: 'service_account',
      name: `service account ${app.slug}/ci`,
    });
    const listed = (await accounts('tokens', 'list', 'ci', '--json')).json<{
      items: { last_used_at: string }[];
    }>();
    expect(listed.items).toMatchObject([{ name: 'nightly', status: 'active', hint: secret.slice(-4) }]);
  });

  test('gets and loses actions with its account, and ends with it', async () => {
    await created('robot', 'rows');
    await done(world.people.O.call('POST', `${app.base}/tables`, { name: 'facts', columns: ['text:text'] }));
    const { secret } = (
      await accounts('tokens', 'create', 'robot', '--name', 'x', '--execute', '--json')
    ).json<{ secret: string }>();
    const call = caller(world.tenant.server, { 'x-api-key': secret });
    const rows = `/data/${world.tenant.slug}/${app.slug}/facts`;
    const status = async (method: string, path: string, body?: unknown) =>
      (await call(method, path, body)).status;
    expect(await status('POST', rows, { text: 'one' })).toBe(201);
    expect(await status('GET', `${app.base}/tables`)).toBe(403);
    expect((await accounts('update', 'robot', '--actions', 'tables', '--execute')).code).toBe(0);
    expect(await status('GET', rows)).toBe(404);
    expect(await status('GET', `${app.base}/tables`)).toBe(200);
    expect((await accounts('delete', 'robot', '--execute')).code).toBe(0);
    expect(await status('GET', `${app.base}/tables`)).toBe(401);
    expect((await accounts('delete', 'robot', '--execute')).code).toBe(5);
  });

  test('lives for at most 90 days', async () => {
    await created('short', 'rows');
    const create = (...more: string[]) =>
      accounts('tokens', 'create', 'short', '--name', 'x', '--execute', '--json', ...more);
    const days = async (...more: string[]) => {
      const { expires_at } = (await create(...more)).json<{ expires_at: string }>();
      return Math.round((Date.parse(expires_at) - Date.now()) / (24 * 3600 * 1000));
    };
    expect([await days(), await days('--expires-in-days', '90')]).toEqual([30, 90]);
    const refused = await create('--expires-in-days', '91');
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('90')]);
    const path = `${app.base}/service-accounts/short/tokens`;
    const called = await world.people.O.call('POST', path, { name: 'x', expires_in_days: 91 });
    expect([called.status, called.body.code]).toEqual([400, 'validation_failed']);
  });

  test('with the action storage stores, lists, reads and deletes objects, and nothing else', async () => {
    await done(world.people.O.call('POST', `${app.base}/storage/enable`));
    await created('files', 'storage');
    const line = ['tokens', 'create', 'files', '--name', 'x', '--execute', '--json'];
    const { secret } = (await accounts(...line)).json<{ secret: string }>();
    const program = job({ SVC_TOKEN: secret, SVC_TENANT: world.tenant.slug });
    const inApp = (...args: string[]) => program([...args, '--app', app.slug]);
    const source = join(folderOf({ 'note.txt': 'of a program' }), 'note.txt');
    expect((await inApp('apps', 'storage', 'put', source, 'notes/one.txt', '--execute')).code).toBe(0);
    expect((await inApp('apps', 'storage', 'ls')).stdout).toContain('notes/');
    const read = () => inApp('apps', 'storage', 'cp', ':notes/one.txt', '-');
    expect((await read()).stdout).toBe('of a program');
    expect((await inApp('apps', 'storage', 'rm', 'notes/one.txt', '--execute')).code).toBe(0);
    expect((await read()).code).toBe(5);
    for (const [noun, code] of [
      ['tables', 4],
      ['deployments', 4],
      ['env', 3],
    ] as const)
      expect([noun, (await inApp(noun, 'list')).code]).toEqual([noun, code]);
    const other = await newApp(world.tenant, { owner: world.people.O });
    await done(world.people.O.call('POST', `${other.base}/storage/enable`));
    expect((await program(['apps', 'storage', 'ls', '--app', other.slug])).code).toBe(5);
  });

  test('does not outlive its app', async () => {
    const { O } = world.people;
    const short = await newApp(world.tenant, { owner: O });
    const path = `${short.base}/service-accounts`;
    await done(O.call('POST', path, { name: 'ci', actions: ['tables'] }));
    const { secret } = await done(O.call('POST', `${path}/ci/tokens`, { name: 'x' }));
    const call = caller(world.tenant.server, { authorization: `Bearer ${secret}` });
    expect((await call('GET', `${short.base}/tables`)).status).toBe(200);
    await done(O.call('DELETE', short.base));
    expect((await call('GET', `${short.base}/tables`)).status).toBe(401);
    const purge = await O.call('POST', `${short.base}/purge`);
    expect([purge.status, purge.body.removed.service_accounts]).toEqual([200, 1]);
    expect((await call('GET', `${short.base}/tables`)).status).toBe(401);
  });
});

describe('a job without a stored secret', () => {
  const name = () => `${world.tenant.slug}/${app.slug}/pipeline`;

  test('of GitHub Actions gets its token by itself', async () => {
    await created('pipeline', 'tables');
    const trusted = await accounts(
      'trust',
      'add',
      'pipeline',
      '--github',
      'acme/shop@main',
      '--issuer',
      issuer.issuer,
      '--execute',
    );
    expect([trusted.code, trusted.stderr]).toEqual([0, expect.any(String)]);
    let asked = 0;
    /** What a runner of GitHub offers to a job. */
    const runner = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      async fetch(request) {
        const audience = new URL(request.url).searchParams.get('audience') ?? '';
        if (request.headers.get('authorization') !== 'Bearer runner')
          return new Response(null, { status: 403 });
        asked += 1;
        return Response.json({ value: await issuer.sign(githubClaims('acme/shop', 'main', audience)) });
      },
    });
    try {
      const github = job({
        SVC_SERVICE_ACCOUNT: name(),
        ACTIONS_ID_TOKEN_REQUEST_URL: `http://127.0.0.1:${runner.port}/token?api-version=2`,
        ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'runner',
      });
      const listed = await github(['tables', 'list', '--app', app.slug, '--json']);
      expect([listed.code, listed.stderr, asked]).toEqual([0, '', 1]);
      const audit = await done(world.people.O.call('GET', `${app.base}/audit`));
      expect(
        audit.items.find((it: { action: string }) => it.action === 'serviceTokens.exchange'),
      ).toMatchObject({
        actor: { kind: 'service_account', name: `service account ${app.slug}/pipeline` },
      });
    } finally {
      await runner.stop(true);
    }
  });

  test('of GitLab uses the token of the job; another project is refused with what to do', async () => {
    const { baseUrl } = world.tenant.server;
    await accounts(
      'trust',
      'add',
      'pipeline',
      '--gitlab',
      'acme/web/shop',
      '--issuer',
      gitlabIssuer.issuer,
      '--execute',
    );
    const gitlab = async (project: string) =>
      job({
        SVC_SERVICE_ACCOUNT: name(),
        SVC_OIDC_TOKEN: await gitlabIssuer.sign(gitlabClaims(project, 'main', baseUrl)),
      });
    expect((await (await gitlab('acme/web/shop'))(['tables', 'list', '--app', app.slug])).code).toBe(0);
    const refused = await (await gitlab('evil/shop'))(['tables', 'list', '--app', app.slug]);
    expect([refused.code, refused.stderr]).toEqual([
      4,
      expect.stringMatching(/did not accept this job as the service account.*\n?.*svc service-accounts get/),
    ]);
    const none = await job({ SVC_SERVICE_ACCOUNT: name() })(['tables', 'list', '--app', app.slug]);
    expect([none.code, none.stderr]).toEqual([3, expect.stringContaining('id-token: write')]);
  });

  interface Trusted {
    words: string[];
    by: () => OidcIssuer;
    accepted: object[];
    refused: object[];
  }
  const github = (branch: string, more: Parameters<typeof githubClaims>[3] = {}, repository = 'acme/shop') =>
    githubClaims(repository, branch, world.tenant.server.baseUrl, more);
  const gitlab = (ref: string, more: Parameters<typeof gitlabClaims>[3] = {}, project = 'acme/web/shop') =>
    gitlabClaims(project, ref, world.tenant.server.baseUrl, more);
  const trusts: Record<string, () => Trusted> = {
    'of GitHub, by branch': () => ({
      words: ['--github', 'acme/shop@main'],
      by: () => issuer,
      // `sub` of a job with an environment does not contain the branch; `ref` does.
      accepted: [github('main'), github('main', { environment: 'production' })],
      refused: [
        github('other'),
        github('main', { pullRequest: 12 }),
        github('main', { tag: 'main' }),
        github('main', {}, 'acme/shop2'),
        { ...github('main'), aud: 'https://github.com/acme' },
      ],
    }),
    'of GitHub, by environment': () => ({
      words: ['--github', 'acme/shop', '--claim', 'environment=production'],
      by: () => issuer,
      accepted: [github('any', { environment: 'production' })],
      refused: [github('main'), github('main', { environment: 'staging' })],
    }),
    'of GitHub, by tag': () => ({
      words: ['--github', 'acme/shop@refs/tags/v*'],
      by: () => issuer,
      accepted: [github('', { tag: 'v1.2' })],
      refused: [github('v1'), github('', { tag: 'nightly' })],
    }),
    'of GitHub, by subject': () => ({
      words: ['--claim', 'sub=repo:acme/shop:pull_request'],
      by: () => issuer,
      accepted: [github('feature', { pullRequest: 12 })],
      refused: [github('main'), github('feature', { pullRequest: 12 }, 'fork/shop')],
    }),
    'of GitLab, by branch and environment': () => ({
      words: ['--gitlab', 'acme/web/shop@main', '--claim', 'environment=production'],
      by: () => gitlabIssuer,
      accepted: [gitlab('main', { environment: 'production' })],
      refused: [
        gitlab('main'),
        gitlab('other', { environment: 'production' }),
        gitlab('main', { environment: 'production' }, 'acme/web'),
        { ...gitlab('main', { environment: 'production' }), aud: 'https://gitlab.com' },
      ],
    }),
    'of GitLab, by tag': () => ({
      words: ['--gitlab', 'acme/web/shop@refs/tags/v*', '--claim', 'ref_protected=true'],
      by: () => gitlabIssuer,
      accepted: [gitlab('v1', { isTag: true })],
      refused: [gitlab('v1'), { ...gitlab('v1', { isTag: true }), ref_protected: 'false' }],
    }),
  };

  test.each(Object.keys(trusts))('%s: exactly the jobs of the rule are accepted', async (rule) => {
    const { words, by, accepted, refused } = trusts[rule]!();
    const account = `job-${Object.keys(trusts).indexOf(rule)}`;
    await created(account, 'tables');
    const added = await accounts('trust', 'add', account, ...words, '--issuer', by().issuer, '--execute');
    expect([added.code, added.stderr]).toEqual([0, expect.any(String)]);
    const status = async (claims: object) => {
      const body = new URLSearchParams({
        grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
        client_id: 'svc-cli',
        service_account: `${world.tenant.slug}/${app.slug}/${account}`,
        subject_token: await by().sign({ ...claims }),
        subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
      });
      const answer = await fetch(`${world.tenant.server.baseUrl}/oauth/token`, { method: 'POST', body });
      return [answer.status, (await answer.json()).error];
    };
    for (const claims of accepted) expect([claims, await status(claims)]).toEqual([claims, [200, undefined]]);
    for (const claims of refused)
      expect([claims, await status(claims)]).toEqual([claims, [400, 'invalid_grant']]);
  });

  test('loses its token when the trust ends', async () => {
    const { trust } = (await accounts('get', 'pipeline', '--json')).json<{
      trust: { id: string; claims: Record<string, string> }[];
    }>();
    const rule = trust.find(({ claims }) => claims.project_path === 'acme/web/shop')!;
    const { baseUrl } = world.tenant.server;
    const form = new URLSearchParams({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      client_id: 'svc-cli',
      service_account: name(),
      subject_token: await gitlabIssuer.sign(gitlabClaims('acme/web/shop', 'main', baseUrl)),
      subject_token_type: 'urn:ietf:params:oauth:token-type:id_token',
    });
    const answer = await fetch(`${baseUrl}/oauth/token`, { method: 'POST', body: form });
    const { access_token } = await answer.json();
    const call = caller(world.tenant.server, { authorization: `Bearer ${access_token}` });
    expect((await call('GET', `${app.base}/tables`)).status).toBe(200);
    expect((await accounts('trust', 'remove', 'pipeline', rule.id, '--execute')).code).toBe(0);
    await until('the token has ended', async () => (await call('GET', `${app.base}/tables`)).status === 401);
  });

  test('cannot trust an issuer in a private network that the operator did not name', async () => {
    const claim = ['--claim', 'sub=x', '--execute'];
    for (const url of ['http://127.0.0.1:1', 'https://169.254.169.254', 'https://gitlab.internal']) {
      const refused = await accounts('trust', 'add', 'pipeline', '--issuer', url, ...claim);
      expect([url, refused.code, refused.stderr]).toEqual([url, 7, expect.stringContaining('issuer')]);
    }
  });
});
