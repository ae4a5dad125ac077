import { beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { git, newPageTemplate, newRepository, pageFiles, pushFiles, remoteOf } from './support/git.ts';
import { newTenant, type Person, type Tenant } from './support/people.ts';
import { type RunningServer, sharedServer, temporaryFolder } from './support/server.ts';
import { askSite, visitorCookie } from './support/sites.ts';
import { until } from './support/until.ts';

let server: RunningServer;
let tenant: Tenant;
let template: string;
beforeAll(async () => {
  server = await sharedServer();
  tenant = await newTenant(server);
  template = await newPageTemplate(tenant);
});

const newSlug = () => `b-${Bun.randomUUIDv7().replaceAll('-', '').slice(-12)}`;
const start = (by: Person, body: Record<string, unknown>, query = '') =>
  by.call('POST', `${tenant.base}/bootstraps${query}`, { template, slug: newSlug(), ...body });
const ended = (by: Person, id: string) =>
  until(
    `run ${id} ends`,
    async () => {
      const { body } = await by.call('GET', `${tenant.base}/bootstraps/${id}`);
      return body.ended_at === null ? null : body;
    },
    120_000,
  );

describe('a bootstrap', () => {
  test('creates from a template an app that serves, with a repository to clone and push to', async () => {
    const owner = tenant.member;
    const slug = newSlug();
    const started = await start(owner, { slug });
    expect(started.status).toBe(201);
    expect(started.headers.get('location')).toBe(`${tenant.base}/bootstraps/${started.body.id}`);
    const run = await ended(owner, started.body.id);
    expect(run).toMatchObject({ state: 'done', failure: null, repo: `${tenant.slug}/${slug}` });
    const site = { server, host: new URL(run.url).hostname, app: { id: run.app_id, slug }, tenant, owner };
    const cookie = await visitorCookie(site as never, owner);
    const fetchText = async (path = '/') =>
      (await askSite(site as never, path, { headers: { cookie } })).text as string;
    expect(await fetchText()).toContain('Hello from a page');

    const folder = temporaryFolder();
    const remote = remoteOf(tenant, owner, run.repo);
    expect(await git(['clone', '-q', remote, 'clone'], folder)).toMatchObject({ code: 0 });
    expect(readFileSync(join(folder, 'clone', 'index.html'), 'utf8')).toBe(pageFiles['index.html']);
    expect((await git(['rev-parse', 'HEAD'], join(folder, 'clone'))).stdout.trim()).toBe(run.commit);

    await pushFiles(remote, { 'index.html': '<h1>Changed</h1>' });
    await until('the push is live', async () => (await fetchText()).includes('Changed'), 60_000);
  });

  test('a preview lists what would be created, and creates nothing', async () => {
    const slug = newSlug();
    const { status, body } = await start(tenant.member, { slug }, '?dry_run=true');
    expect(status).toBe(200);
    const paths = body.plan.changes.map(({ path }: { path: string }) => path).join(' ');
    for (const word of ['slug', 'repository', 'connection', 'deployment']) expect(paths).toContain(word);
    const app = await tenant.member.call('GET', `${tenant.base}/apps/${slug}`);
    const repo = await tenant.member.call('GET', `/git/api/v3/repos/${tenant.slug}/${slug}`);
    expect([app.status, repo.status]).toEqual([404, 404]);
    const executed = await start(tenant.member, { slug, repo_private: false });
    expect(executed.status).toBe(201);
    expect(await start(tenant.member, { slug }, '?dry_run=true')).toMatchObject({
      status: 409,
      body: { code: 'slug_taken' },
    });
  });

  test('a run whose code cannot be fetched fails, and prints how to undo it', async () => {
    const repo = await newRepository(tenant, tenant.admin);
    const templates = `${tenant.base}/templates`;
    const { body: own } = await tenant.admin.call('POST', templates, { repo, name: 'Soon gone' });
    expect((await tenant.admin.call('DELETE', `/git/api/v3/repos/${repo}`)).status).toBe(204);
    const slug = newSlug();
    const { body: started } = await start(tenant.member, { template: own.id, slug });
    const run = await ended(tenant.member, started.id);
    expect(run).toMatchObject({
      state: 'failed',
      step: 'seed_repo',
      failure: { code: 'template_unavailable' },
    });
    expect(run.undo).toHaveLength(2);
    // The poll of the second person finishes the link of the person who started the run.
    expect((await tenant.member.call('DELETE', `/git/api/v3/repos/${run.repo}`)).status).toBe(204);
    expect(run.undo[1]).toContain(`${server.baseUrl}/git/api/v3/repos/${run.repo}`);
    expect(run.undo[0]).toBe(`svc apps delete ${slug} --tenant ${tenant.slug} --execute`);
    const folder = join(server.dataDir, 'bootstrap', run.id);
    expect(existsSync(folder)).toBe(false);
  });
});

describe('a fork', () => {
  test('has the code with its history, the settings and the table schemas, and nothing else', async () => {
    const owner = tenant.member;
    const { body: first } = await start(owner, {});
    const source = await ended(owner, first.id);
    const app = `${tenant.base}/apps/${source.app_id}`;
    const settings = { summary: 'A page of ours', description: 'Long', auth_mode: 'bearer' };
    expect((await owner.call('PATCH', app, settings)).status).toBe(200);
    expect((await owner.call('PATCH', `${app}/env`, { set: { SECRET: 'hush' } })).status).toBe(200);
    const table = { name: 'notes', columns: [{ name: 'text', type: 'text' }] };
    expect((await owner.call('POST', `${app}/tables`, table)).status).toBe(201);
    const rowsOf = (of: string) => `/data/${tenant.slug}/${of}/notes`;
    expect((await owner.call('POST', rowsOf(source.slug), { text: 'ours' })).status).toBe(201);

    const slug = newSlug();
    const body = { source: source.slug, slug };
    const { status, body: started } = await owner.call('POST', `${tenant.base}/forks`, body);
    expect([status, started.kind, started.source_app_id]).toEqual([201, 'fork', source.app_id]);
    const run = await ended(owner, started.id);
    expect(run).toMatchObject({ state: 'done', commit: source.commit });
    expect(run.repo).toBe(`${tenant.slug}/${slug}`);
    const fork = `${tenant.base}/apps/${run.app_id}`;
    expect((await owner.call('GET', fork)).body).toMatchObject({ slug, ...settings, visibility: 'private' });
    const { body: tables } = await owner.call('GET', `${fork}/tables`);
    expect(tables).toMatchObject({ total: 1, items: [{ name: 'notes', grants: 0 }] });
    expect((await owner.call('GET', rowsOf(slug))).body.data).toEqual([]);
    const { items } = (await owner.call('GET', `${fork}/env`)).body;
    expect(items.filter((item: { given_by: string }) => item.given_by === 'app')).toEqual([]);
  });

  test('of a hidden app is 404; of unreadable code 403, unless a template replaces it', async () => {
    const { body: run } = await start(tenant.member, {});
    await ended(tenant.member, run.id);
    const fork = (by: Person, more = {}) =>
      by.call('POST', `${tenant.base}/forks`, { source: run.app_id, slug: newSlug(), ...more });
    expect(await fork(tenant.admin)).toMatchObject({ status: 404, body: { code: 'not_found' } });
    const uploaded = await tenant.member.call('POST', `${tenant.base}/apps`, { name: newSlug() });
    const bare = { source: uploaded.body.id };
    expect(await fork(tenant.member, bare)).toMatchObject({
      status: 403,
      body: { code: 'code_not_readable' },
    });
    expect((await fork(tenant.member, { ...bare, template })).status).toBe(201);
  });
});
