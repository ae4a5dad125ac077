import { beforeAll, expect, test } from 'bun:test';
import { type Svc, svcFor } from './support/commands.ts';
import { setApp } from './support/database.ts';
import { done, newTenant, type Tenant } from './support/people.ts';
import { folderOf, sharedServer } from './support/server.ts';
import { askSite, newSite } from './support/sites.ts';
import { until } from './support/until.ts';

let tenant: Tenant;
let svc: Svc;
let asAdmin: Svc;
beforeAll(async () => {
  const server = await sharedServer();
  tenant = await newTenant(server);
  svc = svcFor(server, { token: tenant.member.token, tenant: tenant.slug });
  asAdmin = svcFor(server, { token: tenant.admin.token, tenant: tenant.slug });
});

const nodeApp = (text: string) => ({
  'package.json': JSON.stringify({ name: 'app', private: true, scripts: { start: 'node server.js' } }),
  'server.js': `require('node:http').createServer((_, response) => response.end(${JSON.stringify(text)}))
    .listen(process.env.PORT);`,
});

interface Deployment {
  id: string;
  seq: number;
  state: string;
  digest: string;
}

/** An app that runs `one` and that everybody sees. */
async function newOpenApp() {
  const site = await newSite(tenant.server, tenant);
  const name = `app-${Bun.randomUUIDv7().replaceAll('-', '').slice(-20)}`;
  const app = await done(site.owner.call('POST', `${tenant.base}/apps`, { name, deploy_method: 'docker' }));
  const ground = { ...site, app, host: `${app.subdomain}.apps.localhost` };
  const base = `${tenant.base}/apps/${app.id}`;
  const line = (text: string) => ['deploy', '--app', app.slug, '--from-dir', folderOf(nodeApp(text))];
  const deploy = async (text: string) => {
    const ran = await svc([...line(text), '--execute', '--json']);
    if (ran.stdout === '') throw new Error(`svc deploy ended with ${ran.code}: ${ran.stderr}`);
    return { ...ran.json<Deployment>(), code: ran.code, stderr: ran.stderr };
  };
  const first = await deploy('one');
  expect(first).toMatchObject({ state: 'live', code: 0 });
  await setApp(tenant.server, app.id, { visibility: 'internet' });
  const shows = (text: string) =>
    until(`it shows ${text}`, async () => (await askSite(ground, '/')).text === text, 60_000);
  await shows('one');
  return {
    app,
    base,
    deploy,
    shows,
    first,
    preview: async (text: string) =>
      (await svc([...line(text), '--json'])).json<{ plan: { warnings: string[] } }>(),
    deployment: (id: string) => done(site.owner.call('GET', `${base}/deployments/${id}`)),
    async request(id: string) {
      const { items } = await done(site.owner.call('GET', `${base}/publication-requests`));
      return items.find(({ deployment_id }: { deployment_id: string }) => deployment_id === id);
    },
    text: async () => (await askSite(ground, '/')).text,
  };
}

const decide = (id: string, move: string, body: object = {}, who = tenant.admin) =>
  who.call('POST', `${tenant.base}/publication-requests/${id}/${move}`, body);

test('a new deployment of an app on the internet waits for a review, and goes live by the approval', async () => {
  const it = await newOpenApp();
  const { warnings } = (await it.preview('two')).plan;
  expect(warnings).toEqual([
    'The deployment waits for a review before it goes live, because other people can see the app.',
  ]);
  const second = await it.deploy('two');
  expect(second).toMatchObject({ state: 'built', code: 11 });
  expect(second.stderr).toContain('waits for a review');
  expect(await it.text()).toBe('one');
  const request = await it.request(second.id);
  expect(request).toMatchObject({
    status: 'pending',
    pinned: 'built',
    digest: second.digest,
    visibility: 'internet',
    visibility_before: 'internet',
    requested_by: tenant.member.id,
  });
  expect((await asAdmin(['review', 'list', '--json'])).stdout).toContain(request.id);

  const own = await decide(request.id, 'approve', {}, tenant.member);
  expect([own.status, own.body.code]).toEqual([403, 'forbidden']);
  const { body } = await decide(request.id, 'approve?dry_run=true');
  expect(body.plan.changes).toContainEqual({
    path: 'deployment',
    before: 'built',
    after: 'releasing',
    effect: 'update',
  });
  expect(await it.deployment(second.id)).toMatchObject({ state: 'built' });

  expect(await done(decide(request.id, 'approve', { note: 'fine' }))).toMatchObject({ status: 'approved' });
  await it.shows('two');
  expect(await it.deployment(second.id)).toMatchObject({ state: 'live', digest: second.digest });
  expect(await done(tenant.admin.call('GET', it.base))).toMatchObject({
    visibility: 'internet',
    review_status: 'approved',
  });

  // A reviewed deployment needs no second review.
  const third = await it.deploy('three');
  await done(decide((await it.request(third.id)).id, 'approve'));
  await it.shows('three');
  const rollback = ['deployments', 'rollback', second.id, '--app', it.app.slug, '--execute', '--json'];
  expect((await svc(rollback)).json<Deployment>()).toMatchObject({ state: 'live', digest: second.digest });
  await it.shows('two');
});

test('a rejection leaves what is live; a newer deployment replaces the one that waits', async () => {
  const it = await newOpenApp();
  const second = await it.deploy('two');
  const request = await it.request(second.id);
  expect(await done(decide(request.id, 'reject', { reason: 'no' }))).toMatchObject({ status: 'rejected' });
  expect(await it.deployment(second.id)).toMatchObject({ state: 'canceled' });
  expect(await done(tenant.admin.call('GET', it.base))).toMatchObject({ review_status: 'approved' });

  const third = await it.deploy('three');
  const fourth = await it.deploy('four');
  expect(await it.request(third.id)).toMatchObject({ status: 'superseded' });
  expect(await it.deployment(third.id)).toMatchObject({ state: 'skipped' });
  const late = await decide((await it.request(third.id)).id, 'approve');
  expect([late.status, late.body.code]).toEqual([409, 'stale_deployment']);
  expect(await it.request(fourth.id)).toMatchObject({ status: 'pending' });
  expect(await it.text()).toBe('one');
});

test('a build from the time when the app was private needs a review too, when it is rolled back to', async () => {
  const it = await newOpenApp();
  await setApp(tenant.server, it.app.id, { visibility: 'private' });
  const second = await it.deploy('two');
  expect(second).toMatchObject({ state: 'live', code: 0 });
  await setApp(tenant.server, it.app.id, { visibility: 'internet' });
  const rollback = ['deployments', 'rollback', it.first.id, '--app', it.app.slug];
  expect((await svc([...rollback, '--json'])).stdout).toContain('waits for a review');
  const back = await svc([...rollback, '--execute', '--json']);
  expect([back.code, back.json<Deployment>().state]).toEqual([11, 'built']);
});

test('the tenant decides for which apps deployments are reviewed', async () => {
  const it = await newOpenApp();
  const set = async (value: string) =>
    expect((await asAdmin(['tenants', 'update', '--review-deployments', value, '--execute'])).code).toBe(0);
  try {
    await set('off');
    expect(await it.deploy('two')).toMatchObject({ state: 'live', code: 0 });
    await setApp(tenant.server, it.app.id, { visibility: 'public' });
    await set('internet');
    expect(await it.deploy('three')).toMatchObject({ state: 'live', code: 0 });
    await set('all');
    expect(await it.deploy('four')).toMatchObject({ state: 'built', code: 11 });
    expect((await svc(['tenants', 'update', '--review-deployments', 'off', '--execute'])).code).toBe(4);
  } finally {
    await set('internet');
  }
});
