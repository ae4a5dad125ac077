import { beforeAll, describe, expect, test } from 'bun:test';
import { contract } from '@svc/contract/all.ts';
import type { Endpoint } from '@svc/contract/endpoint.ts';
import { previewOperations } from '@svc/contract/previews.ts';
import { createSignIn } from '../sdk/src/main.ts';
import { TestBrowser } from '../server/src/identity/provider/browser-testing.ts';
import { type NodeApp, newNodeApp, runsOf } from './support/apps.ts';
import { type Svc, svcFor } from './support/commands.ts';
import { queryDatabase } from './support/database.ts';
import { git, mustGit, remoteOf } from './support/git.ts';
import {
  bearer,
  caller,
  done,
  newMember,
  newPasswordUser,
  newTenant,
  type Person,
  type Tenant,
} from './support/people.ts';
import type { Files } from './support/server.ts';
import { askHost, siteOf, visitorCookie } from './support/sites.ts';
import { until } from './support/until.ts';

let tenant: Tenant;
let owner: Person;
let svc: Svc;
beforeAll(async () => {
  tenant = await newTenant();
  owner = tenant.member;
  svc = svcFor(tenant.server, { token: owner.token, tenant: tenant.slug });
});

const wishes = 'tables: { wishes: { columns: [text:text] } }\n';

/** Answers with its version and its environment. */
const envApp = (version: string, previews = 'branches: ["feature/*", "!feature/no*"]'): Files => ({
  'svc.yaml': `start: node server.js\npreviews:\n  ${previews}\n  ttl: 2h\n  seed: seed.json\n${version === 'branch' ? wishes : ''}`,
  'seed.json': JSON.stringify({
    notes: [{ text: 'from the seed' }, { text: 'and another' }],
    ...(version === 'branch' && { wishes: [{ text: 'a wish' }] }),
  }),
  'server.js': `require('node:http').createServer((request, response) =>
    response.end(JSON.stringify({ version: '${version}', ...process.env }))).listen(process.env.PORT, '127.0.0.1')`,
});

async function push(app: NodeApp, branch: string, ...options: string[]) {
  await mustGit(['add', '-A'], app.copy.folder);
  await mustGit(['commit', '-q', '--allow-empty', '-m', `A change of ${branch}`], app.copy.folder);
  return git(['push', ...options, 'origin', `HEAD:refs/heads/${branch}`], app.copy.folder);
}

const previewsOf = async (app: NodeApp) => (await done(owner.call('GET', `${app.base}/previews`))).items;
const hostOf = (preview: { url: string }) => new URL(preview.url).hostname;

async function ask(preview: { url: string }, person: Person) {
  const host = hostOf(preview);
  const cookie = await visitorCookie(siteOf(tenant, { id: '', slug: '', subdomain: '' }), person, host);
  const at = `${host}:${tenant.server.port}`;
  return askHost(tenant.server, at, '/', { headers: { cookie, accept: 'text/html' } });
}

/** The token of a co-owner who signed in to the preview, with its host as the place to return to. */
async function tokenThrough(app: NodeApp, preview: { id: string; url: string }): Promise<string> {
  const { baseUrl } = tenant.server;
  const user = await newPasswordUser(tenant.server, tenant.id);
  await done(owner.call('POST', `${app.base}/co-owners`, { user_id: user.id }));
  let address = '';
  const navigate = (url: string) => {
    address = url;
  };
  const atHost = createSignIn({ baseUrl, appId: preview.id, redirectUri: `${preview.url}back`, navigate });
  await atHost.signIn();
  const browser = new TestBrowser(baseUrl);
  let page = await browser.open(address);
  expect([page.status, page.html]).toEqual([200, expect.stringContaining('name="password"')]);
  // A loopback address stands for the host, whose name not every system resolves.
  const home = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response('the app') });
  const redirectUri = `http://localhost:${home.port}/back`;
  const signIn = createSignIn({ baseUrl, appId: preview.id, redirectUri, navigate });
  await signIn.signIn();
  page = await browser.press(await browser.open(address), 'Sign in', {
    email: user.email,
    password: user.password,
  });
  if (page.html.includes('wants to sign you in')) page = await browser.press(page, 'Allow');
  await signIn.handleRedirect(page.url);
  home.stop(true);
  return signIn.getToken();
}

/** With a table of one row, a variable for itself and one for previews. */
async function newDeployedApp(): Promise<NodeApp & { data: string }> {
  const app = await newNodeApp(tenant, envApp('production'));
  const columns = [{ name: 'text', type: 'text', nullable: false }];
  await done(owner.call('POST', `${app.base}/tables`, { name: 'notes', columns }));
  const data = `/data/${tenant.slug}/${app.slug}/notes`;
  await done(owner.call('POST', data, { text: 'production row' }));
  await done(owner.call('PATCH', `${app.base}/env`, { set: { SECRET: 'of production' } }));
  await done(owner.call('POST', `${app.base}/raw-db/enable`));
  const forPreviews = { set: { GREETING: 'of previews' }, environment: 'preview' };
  await done(owner.call('PATCH', `${app.base}/env`, forPreviews));
  expect((await push(app, 'main', '-o', 'wait')).stderr).toContain(': live at ');
  return { ...app, data };
}

describe('a push to a branch that matches previews.branches', () => {
  test('deploys it under its own host, with its own rows and variables, until the branch is deleted', async () => {
    const app = await newDeployedApp();
    app.copy.write(envApp('branch'));
    const pushed = await push(app, 'feature/New_Look', '-o', 'wait');
    const [preview] = await previewsOf(app);
    expect(preview).toMatchObject({ branch: 'feature/New_Look', slug: 'feature-new-look', live: true });
    expect(hostOf(preview)).toStartWith(`feature-new-look--${app.slug}.`);
    expect([pushed.code, pushed.stderr]).toEqual([
      0,
      expect.stringContaining(`Preview of feature/New_Look: ${preview.url}`),
    ]);

    const env = JSON.parse((await ask(preview, owner)).text);
    expect(env).toMatchObject({
      version: 'branch',
      SVC_ENVIRONMENT: 'preview',
      SVC_APP_ID: preview.id,
      GREETING: 'of previews',
    });
    expect(env.SECRET).toBeUndefined();
    expect(env.DATABASE_URL).toStartWith('postgres');
    const production = JSON.parse((await app.ask()).text);
    expect(production).toMatchObject({
      version: 'production',
      SVC_ENVIRONMENT: 'production',
      SECRET: 'of production',
    });
    expect(production.GREETING).toBeUndefined();
    expect(production.DATABASE_URL).not.toBe(env.DATABASE_URL);

    const [started] = await queryDatabase(
      tenant.server,
      `select (start_with->>'sleepMs')::int as "sleepMs" from svc.deployments where id = $1`,
      [preview.deployment.id],
    );
    expect(started).toEqual({ sleepMs: 15 * 60_000 });
    const asleep = 'update svc.app_activity set last_active_at = $2 where app_id = $1';
    await queryDatabase(tenant.server, asleep, [preview.id, new Date(Date.now() - 20 * 60_000)]);
    await until('the preview sleeps', async () => runsOf(preview).length === 0, 60_000);
    expect(JSON.parse((await ask(preview, owner)).text)).toMatchObject({ version: 'branch' });

    const rows = `/data/${tenant.slug}/${preview.id}/notes`;
    const texts = async (path: string) =>
      (await done(owner.call('GET', path))).data.map(({ text }: { text: string }) => text).sort();
    expect(await texts(rows)).toEqual(['and another', 'from the seed']);
    expect(await texts(rows.replace('notes', 'wishes'))).toEqual(['a wish']);
    expect((await owner.call('GET', `${app.base}/tables/wishes`)).status).toBe(404);
    await done(owner.call('POST', rows, { text: 'preview row' }));
    expect(await texts(app.data)).toEqual(['production row']);

    const through = caller(tenant.server, bearer({ token: await tokenThrough(app, preview) }));
    expect((await through('GET', rows)).status).toBe(200);
    expect((await through('GET', app.data)).status).toBe(404);

    // The running programs have tokens of their own, each for its own rows.
    const statuses = async (token: string) => {
      const call = caller(tenant.server, bearer({ token }));
      return [(await call('GET', rows)).status, (await call('GET', app.data)).status];
    };
    const awake = JSON.parse((await ask(preview, owner)).text);
    expect([await statuses(awake.SVC_APP_TOKEN), await statuses(production.SVC_APP_TOKEN)]).toEqual([
      [200, 404],
      [404, 200],
    ]);

    const grant = { principal_type: 'app', principal_id: preview.id, actions: ['read'] };
    expect((await owner.call('POST', `${app.base}/tables/notes/grants`, grant)).status).toBe(400);

    const again = await push(app, 'feature/New_Look', '-o', 'wait');
    expect(again.stderr).toContain('Deployment #2 of feature-new-look--');
    expect(await texts(rows)).toEqual(['and another', 'from the seed', 'preview row']);

    const deleted = await git(['push', 'origin', ':feature/New_Look'], app.copy.folder);
    expect(deleted.stderr).toContain('The preview of feature/New_Look is removed.');
    expect(await previewsOf(app)).toEqual([]);
    expect((await owner.call('GET', rows)).status).toBe(404);
    expect(await texts(app.data)).toEqual(['production row']);
    const left = await queryDatabase(tenant.server, 'select 1 from svc.apps where preview_of = $1', [app.id]);
    expect(left).toEqual([]);
  });
});

/** A site, whose previews need no process. */
async function newSiteWithPreviews(previews: string) {
  const app = await newNodeApp(tenant, {
    'index.html': 'production',
    'svc.yaml': `start: false\npreviews:\n  ${previews}\n`,
  });
  await push(app, 'main', '-o', 'wait');
  return app;
}

describe('previews', () => {
  test('are only for branches that the connected branch names, and for people who may push', async () => {
    const app = await newSiteWithPreviews('branches: ["feature/*", "!feature/no*"]');
    // The branch itself says that all branches match.
    app.copy.write({ 'svc.yaml': 'start: false\npreviews:\n  branches: true\n' });
    for (const branch of ['other', 'feature/none', 'feature/a/b'])
      expect((await push(app, branch)).stderr).toContain('Not deployed');
    const remote = remoteOf(tenant, tenant.admin, app.repo);
    const byOther = await git(['push', remote, 'HEAD:refs/heads/feature/x'], app.copy.folder);
    expect([byOther.code, byOther.stderr]).toEqual([128, expect.stringContaining('not found')]);
    expect(await previewsOf(app)).toEqual([]);
  });

  test('have the people of their app, are in no list, and cannot be changed as an app', async () => {
    const app = await newSiteWithPreviews('branches: true');
    app.copy.write({ 'index.html': 'a branch' });
    const pushed = await push(app, 'staging', '-o', 'wait');
    expect(pushed.stderr).toContain(': live at ');
    const [preview] = await previewsOf(app);
    expect(hostOf(preview)).toStartWith(`staging--${app.slug}.`);
    const isRefused = async ({ id, method, path }: Endpoint) => {
      const filled = { tenantID: tenant.id, app: preview.id } as Record<string, string>;
      const at = path.replace(/\{(\w+)\}/g, (_, name) => filled[name] ?? 'x');
      return [id, (await owner.call(method, at, method === 'GET' ? undefined : {})).status];
    };
    const refused = contract
      .map(({ endpoint }) => endpoint)
      .filter(({ id, authority }) => authority.app !== undefined && !previewOperations.has(id));
    expect(await Promise.all(refused.map(isRefused))).toEqual(refused.map(({ id }) => [id, 403]));
    const { items } = await done(owner.call('GET', `${tenant.base}/apps?per_page=200`));
    expect(items.map(({ id }: { id: string }) => id)).not.toContain(preview.id);

    // A private app is seen by its owners alone.
    expect((await ask(preview, owner)).text).toContain('a branch');
    const target = { target: preview.url };
    for (const person of [tenant.admin, await newMember(tenant), tenant.outsider])
      expect((await person.call('POST', '/api/v1/static/auth/start', target)).status).toBe(404);

    const listed = await svc(['previews', 'list', '--app', app.slug]);
    expect(listed.stdout).toMatch(/staging +live +http/);
    expect((await svc(['previews', 'open', 'staging', '--app', app.slug])).stdout).toBe(`${preview.url}\n`);
    const again = await svc(['previews', 'redeploy', 'staging', '--app', app.slug, '--execute', '--json']);
    expect([again.code, again.json()]).toMatchObject([
      0,
      { deployment: { seq: 2, state: 'live' }, live: true },
    ]);
    const removed = await svc(['previews', 'delete', 'staging', '--app', app.slug, '--execute', '--yes']);
    expect([removed.code, await previewsOf(app)]).toEqual([0, []]);
    await push(app, 'staging', '-o', 'wait');
    await done(owner.call('POST', `${app.base}/suspend`));
    expect(await previewsOf(app)).toEqual([]);
  });
});
