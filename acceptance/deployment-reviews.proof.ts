import { beforeAll, expect, test } from 'bun:test';
import { type Svc, svcFor } from './support/commands.ts';
import { queryUrl, setApp } from './support/database.ts';
import { done, newTenant, type Person, type Tenant } from './support/people.ts';
import { type Files, folderOf, sharedServer } from './support/server.ts';
import { askSite, newSite, visitorCookie } from './support/sites.ts';
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

interface Review {
  kind: string;
  url: string | null;
}

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
  const line = (files: Files) => ['deploy', '--app', app.slug, '--from-dir', folderOf(files)];
  const deployFiles = async (files: Files) => {
    const ran = await svc([...line(files), '--execute', '--json']);
    if (ran.stdout === '') throw new Error(`svc deploy ended with ${ran.code}: ${ran.stderr}`);
    return { ...ran.json<Deployment>(), code: ran.code, stderr: ran.stderr };
  };
  const deploy = (text: string) => deployFiles(nodeApp(text));
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
    deployFiles,
    shows,
    first,
    preview: async (text: string) =>
      (await svc([...line(nodeApp(text)), '--json'])).json<{ plan: { warnings: string[] } }>(),
    deployment: (id: string) => done(site.owner.call('GET', `${base}/deployments/${id}`)),
    async request(id: string) {
      const { items } = await done(site.owner.call('GET', `${base}/publication-requests`));
      return items.find(({ deployment_id }: { deployment_id: string }) => deployment_id === id);
    },
    text: async () => (await askSite(ground, '/')).text,
    /** What a person sees at the staging host. */
    async staging(person: Person) {
      const host = `${app.subdomain}--staging.apps.localhost`;
      const cookie = await visitorCookie({ ...ground, stagingHost: host }, person, host);
      const ask = () => askSite({ ...ground, host }, '/', { headers: { cookie, accept: 'text/html' } });
      return {
        ask,
        shows: (text: string) =>
          until(`staging shows ${text}`, async () => (await ask()).text === text, 60_000),
      };
    },
  };
}

const decide = (id: string, move: string, body: object = {}, who = tenant.admin) =>
  who.call('POST', `${tenant.base}/publication-requests/${id}/${move}`, body);

test.concurrent('a new deployment of an app on the internet waits for a review, and goes live by the approval', async () => {
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

  // The deployment made its request by itself, so its owner is notified like the people who decide.
  for (const person of [tenant.member, tenant.admin]) {
    const { items } = await done(person.call('GET', `${tenant.base}/me/notifications`));
    expect(items.filter(({ app_id }: { app_id: string }) => app_id === it.app.id)).toEqual([
      expect.objectContaining({
        kind: 'publication_requested',
        title: `A new deployment of ${it.app.name} needs a review`,
        path: expect.stringContaining(request.id),
      }),
    ]);
  }

  // A reviewer sees what would change, the build log, and the deployment itself, which starts when it is opened.
  const shown = await asAdmin(['review', 'show', request.id, '--json']);
  expect(shown.json<Review>()).toMatchObject({
    kind: 'deployment',
    url: `http://${it.app.subdomain}--staging.apps.localhost:${tenant.server.port}/`,
    diff: {
      before: { deployment: 1 },
      after: { deployment: 2 },
      files: { added: 0, changed: 1, removed: 0, items: [{ path: 'server.js', change: 'changed' }] },
    },
  });
  expect((await asAdmin(['review', 'logs', request.id])).stdout).toContain('an admin must approve');
  const staging = await it.staging(tenant.admin);
  expect((await staging.ask()).text).toBe('two');
  expect(await it.text()).toBe('one');

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
  // The right to look at it ends with the decision.
  expect((await staging.ask()).text).not.toBe('two');
  expect((await asAdmin(['review', 'logs', request.id])).code).toBe(4);
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

/** Writes a row with the identity of the app at each request. */
const writingApp = {
  'svc.yaml': 'start: node server.cjs\n',
  'server.cjs': `const { SVC_API_URL: api, SVC_TENANT: tenant, SVC_APP: app, SVC_APP_ID: id, SVC_APP_TOKEN: token } = process.env;
const call = async (method, path, body) => (await fetch(api + path, {
  method, headers: { authorization: 'Bearer ' + token, 'content-type': 'application/json' }, body,
})).status;
require('node:http').createServer(async (_, response) => {
  const rows = '/data/' + tenant + '/' + app + '/notes';
  const storage = '/api/v1/tenants/' + tenant + '/apps/' + id + '/storage';
  const insert = await call('POST', rows, JSON.stringify({ text: 'hello' }));
  const put = await call('POST', storage + '/upload-url', JSON.stringify({ key: 'a', content_type: 'text/plain' }));
  response.end([process.env.SVC_ENVIRONMENT, await call('GET', rows), insert, await call('GET', storage + '/objects'), put].join(' '));
}).listen(process.env.PORT);`,
};

test.concurrent('a build in review reads the rows and objects of the app and changes nothing, until it is approved', async () => {
  const it = await newOpenApp();
  const { member } = tenant;
  await done(member.call('POST', `${it.base}/tables`, { name: 'notes', columns: ['text:text'] }));
  await done(member.call('POST', `${it.base}/storage/enable`));
  const second = await it.deployFiles(writingApp);
  expect(second).toMatchObject({ state: 'built', code: 11 });
  const staging = await it.staging(tenant.admin);
  await staging.shows('review 200 403 200 403');
  await done(decide((await it.request(second.id)).id, 'approve'));
  await it.shows('production 200 201 200 200');
});

/** Answers with its connection string; its release command and its requests are the same code in every environment. */
const databaseApp = {
  'svc.yaml': 'start: node server.cjs\nrelease: echo released $SVC_ENVIRONMENT\n',
  'server.cjs': `require('node:http').createServer((_, response) => response.end(process.env.DATABASE_URL))
    .listen(process.env.PORT);`,
};

test.concurrent('a build in review reads the raw database of the app, and changes it only after the approval', async () => {
  const it = await newOpenApp();
  const enabled = await svc(['apps', 'raw-db', 'enable', '--app', it.app.slug, '--execute', '--json']);
  const { connection_string: own } = enabled.json<{ connection_string: string }>();
  await queryUrl(own, "create table pets (name text); insert into pets values ('Rex')");
  const second = await it.deployFiles(databaseApp);
  expect(second).toMatchObject({ state: 'built', code: 11 });
  const staging = await it.staging(tenant.admin);
  const shown = await until('staging answers', async () => {
    const { text } = await staging.ask();
    return text.startsWith('postgresql://') && text;
  });
  expect(await queryUrl(shown, 'select name from pets')).toEqual([{ name: 'Rex' }]);
  await expect(queryUrl(shown, 'delete from pets')).rejects.toThrow('permission denied');
  const log = () => svc(['deployments', 'logs', second.id, '--app', it.app.slug]);
  expect((await log()).stdout).not.toContain('released');
  await done(decide((await it.request(second.id)).id, 'approve'));
  await it.shows(own);
  expect((await log()).stdout).toContain('released production');
  await until('the login of the review has ended', () =>
    queryUrl(shown, 'select 1').then(
      () => false,
      () => true,
    ),
  );
});

/** With one package to install, which needs no registry. */
const packagedApp = (text: string): Files => ({
  ...nodeApp(text),
  'package.json': JSON.stringify({ name: 'app', workspaces: ['lib'], scripts: { start: 'node server.js' } }),
  'lib/package.json': JSON.stringify({ name: 'lib', version: '1.0.0' }),
  'package-lock.json': JSON.stringify({
    name: 'app',
    lockfileVersion: 3,
    packages: {
      '': { name: 'app', workspaces: ['lib'] },
      lib: { version: '1.0.0' },
      'node_modules/lib': { resolved: 'lib', link: true },
    },
  }),
});

test.concurrent('the packages of an approved build are taken over by the next one, those of a rejected build are not', async () => {
  const it = await newOpenApp();
  const fromCache = 'The same packages as in the last approved build: restored from the cache.';
  const deploy = async (text: string, move: string, body: object) => {
    const deployed = await it.deployFiles(packagedApp(text));
    await done(decide((await it.request(deployed.id)).id, move, body));
    return deployed.stderr.includes(fromCache);
  };
  expect(await deploy('two', 'reject', { reason: 'no' })).toBe(false);
  expect(await deploy('three', 'approve', {})).toBe(false);
  await it.shows('three');
  expect(await deploy('four', 'approve', {})).toBe(true);
  await it.shows('four');
});

test.concurrent('a rejection leaves what is live; a newer deployment replaces the one that waits', async () => {
  const it = await newOpenApp();
  const second = await it.deploy('two');
  const request = await it.request(second.id);
  expect(await done(decide(request.id, 'reject', { reason: 'no' }))).toMatchObject({ status: 'rejected' });
  expect(await it.deployment(second.id)).toMatchObject({
    state: 'canceled',
    review: { id: request.id, kind: 'deployment', status: 'rejected', reason: 'no' },
  });
  const waited = await svc(['deployments', 'wait', second.id, '--app', it.app.slug]);
  expect([waited.code, waited.stderr]).toEqual([
    9,
    expect.stringContaining('was rejected in its review: no.'),
  ]);
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

test.concurrent('a build from the time when the app was private needs a review too, when it is rolled back to', async () => {
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

// Alone, because it changes the tenant.
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
