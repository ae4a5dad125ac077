import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { SiteConfig } from '@svc/contract/site-config.ts';
import { sql } from 'kysely';
import { patientMs } from '../../../../scripts/patience.ts';
import { newApp } from '../../apps/record/testing.ts';
import type { AppAccess } from '../../core/context.ts';
import { type Invalidation, listenForChanges, notifySql } from '../../core/invalidation.ts';
import { appTag } from '../../core/tags.ts';
import { sha256 } from '../../core/values.ts';
import { blobKey } from '../../delivery/static-sites/blobs.ts';
import type { ObjectStore } from '../../drivers/object-store/object-store.ts';
import type { Edge } from '../../http/edge-request.ts';
import { newTenant, silentLog, type TestDatabase, testDatabase } from '../../testing.ts';
import { openEdge } from './edge.ts';
import { createReleaseContents, loadSite } from './load-site.ts';
import { edgeDefaults, readAnswer, testRequest } from './testing.ts';

let database: TestDatabase;
let changes: Invalidation;
let edge: Edge;
const stored = new Map<string, Uint8Array>();
const objects = {
  get: async (key: string) => {
    const bytes = stored.get(key);
    return bytes ? { body: new Blob([bytes as BlobPart]).stream(), size: bytes.length } : null;
  },
} as Partial<ObjectStore> as ObjectStore;

beforeAll(async () => {
  database = await testDatabase();
  changes = listenForChanges({ url: database.url, log: silentLog });
  await changes.start();
  edge = await openEdge({
    ...edgeDefaults,
    extraHosts: [],
    edgeCacheBytes: 1024 * 1024,
    db: database.db,
    objects,
    invalidation: changes,
    visitors: {
      ...edgeDefaults.visitors,
      isVisitor: (_site, request) => request.header('cookie') === 'in',
    },
    findCredential: async () => null,
    tokens: { tokenFor: () => '' },
  });
});
afterAll(async () => {
  await changes.stop();
  await database.close();
});

interface Site {
  appId: string;
  tenantId: string;
  subdomain: string;
}

async function newSite(visibility: AppAccess['visibility'] = 'internet'): Promise<Site> {
  const { db } = database;
  const { tenant, member } = await newTenant(db);
  const { id: appId } = await newApp(db, tenant, member, { visibility });
  const { rows } = await sql<{ subdomain: string }>`
    update svc.apps set runtime = 'running' where id = ${appId} returning subdomain`.execute(db);
  await sql`insert into svc.static_sites (app_id, tenant_id, is_published, staging_enabled, created_at, updated_at)
    values (${appId}, ${tenant.id}, true, true, now(), now())`.execute(db);
  return { appId, tenantId: tenant.id, subdomain: rows[0]?.subdomain ?? '' };
}

let releasesMade = 0;
async function newRelease(
  site: Site,
  files: Record<string, string>,
  config: SiteConfig = {},
): Promise<string> {
  const { db } = database;
  const id = Bun.randomUUIDv7();
  const { appId, tenantId } = site;
  await sql`insert into svc.static_releases (id, app_id, tenant_id, number, state, manifest_sha256, files, bytes,
      served_config, on_finalize, created_by, created_at)
    values (${id}, ${appId}, ${tenantId}, ${++releasesMade},
      'finalized', ${sha256(id)}, ${Object.keys(files).length}, 0, ${JSON.stringify(config)}, 'nothing', ${appId}, now())`.execute(
    db,
  );
  for (const [path, text] of Object.entries(files)) {
    const blobId = Bun.randomUUIDv7();
    const size = new TextEncoder().encode(text).length;
    const { rows } = await sql<{ blobId: string }>`
      insert into svc.static_blobs (app_id, tenant_id, sha256, size, blob_id, stored_at)
      values (${appId}, ${tenantId}, ${sha256(text)}, ${size}, ${blobId}, now())
      on conflict (app_id, sha256) do update set size = excluded.size returning blob_id as "blobId"`.execute(
      db,
    );
    stored.set(blobKey(site, rows[0]?.blobId ?? ''), new TextEncoder().encode(text));
    await sql`insert into svc.static_files (release_id, path, sha256, size)
      values (${id}, ${path}, ${sha256(text)}, ${size})`.execute(db);
  }
  return id;
}

/** Like a use case: the change and its notification in one transaction. */
async function change({ appId }: Site, set: string, values: readonly unknown[] = []): Promise<void> {
  await database.db.transaction().execute(async (tx) => {
    await sql
      .raw(set.replaceAll('$app', `'${appId}'`).replace(/\$(\d)/g, (_, at) => `'${values[Number(at) - 1]}'`))
      .execute(tx);
    await sql.raw(notifySql.replace('$1', `'${appTag(appId)}'`)).execute(tx);
  });
  changes.notify(appTag(appId));
}

const activate = (site: Site, release: string) =>
  change(site, 'update svc.static_sites set active_release_id = $1 where app_id = $app', [release]);
const stage = (site: Site, release: string) =>
  change(site, 'update svc.static_sites set staged_release_id = $1 where app_id = $app', [release]);

const ask = (host: string, path = '/', headers: Record<string, string> = {}) =>
  readAnswer(edge.answer(testRequest(path, { host, headers })));
async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + patientMs(1_000);
  while (!(await isSo())) {
    expect(performance.now()).toBeLessThan(deadline);
    await Bun.sleep(1);
  }
}
const at = ({ subdomain }: Site) => `${subdomain}.apps.test`;
const stagingAt = ({ subdomain }: Site) => `${subdomain}--staging.apps.test`;

describe('the content of a host', () => {
  test('is the active release at the app and the staged one at its staging host', async () => {
    const site = await newSite();
    const first = await newRelease(site, { 'index.html': 'first', 'a.html': 'a' }, { clean_urls: false });
    const second = await newRelease(site, { 'index.html': 'second' }, { spa: true });
    await activate(site, first);
    await stage(site, second);
    expect(await ask(at(site))).toMatchObject({ status: 200, text: 'first' });
    expect(await ask(at(site), '/a')).toMatchObject({ status: 404 });
    expect(await ask(at(site), '/a.html')).toMatchObject({ status: 200, text: 'a' });
    expect(await ask(stagingAt(site), '/x')).toMatchObject({ status: 303 });
    expect(await ask(stagingAt(site), '/x', { cookie: 'in' })).toMatchObject({ status: 200, text: 'second' });
  });

  test('is the same at a custom domain while the domain is active', async () => {
    const site = await newSite();
    await activate(site, await newRelease(site, { 'index.html': 'home' }));
    const host = `${site.subdomain}.example`;
    expect(edge.serves(host)).toBe(false);
    await change(
      site,
      `insert into svc.domains (id, tenant_id, app_id, host, status, token, ownership, routing, certificate,
         created_by, created_at, pending_since)
       values (gen_random_uuid(), $1, $app, $2, 'active', 't', '{}', '{}', '{}', $app, now(), now())`,
      [site.tenantId, host],
    );
    changes.notify('domains');
    await until(() => edge.serves(host));
    expect(await ask(host)).toMatchObject({ status: 200, text: 'home' });
    await change(site, `update svc.domains set status = 'disconnected' where app_id = $app`);
    changes.notify('domains');
    // The list of domains may be loading: wait until the response is final.
    expect(await ask(host)).toMatchObject({ status: 421 });
    expect(edge.serves(host)).toBe(false);
  });

  const site = 'update svc.static_sites set';
  const app = 'update svc.apps set';
  const hidden: readonly [string, string, 'both' | 'active' | 'staged'][] = [
    ['is unpublished', `${site} is_published = false where app_id = $app`, 'active'],
    ['has no staging', `${site} staging_enabled = false where app_id = $app`, 'staged'],
    ['is suspended', `${app} runtime = 'suspended' where id = $app`, 'both'],
    ['has stopped', `${app} runtime = 'none' where id = $app`, 'active'],
    [
      'is archived',
      `${app} record = 'archived', archived_at = now(), runtime = 'none' where id = $app`,
      'both',
    ],
    [
      'shows what was revoked',
      `update svc.static_releases set state = 'revoked' where app_id = $app`,
      'both',
    ],
  ];
  test.each([...hidden])('a site that %s shows that to its visitors', async (_, set, which) => {
    const site = await newSite();
    const release = await newRelease(site, { 'index.html': 'home' });
    await activate(site, release);
    await stage(site, release);
    expect((await ask(at(site))).text).toBe('home');
    expect((await ask(stagingAt(site), '/', { cookie: 'in' })).text).toBe('home');
    await change(site, set);
    const [active, staged] = [await ask(at(site)), await ask(stagingAt(site), '/', { cookie: 'in' })];
    expect(active.text.includes('Nothing published')).toBe(which !== 'staged');
    expect(staged.text.includes('Nothing published')).toBe(which !== 'active');
    expect(await ask(stagingAt(site))).toMatchObject({ status: 303 });
  });

  test('a deleted site is like one that never existed', async () => {
    const site = await newSite();
    await activate(site, await newRelease(site, { 'index.html': 'home' }));
    await ask(at(site));
    await change(
      site,
      `update svc.apps set record = 'deleted', deleted_at = now(), purge_after = now(), runtime = 'none' where id = $app`,
    );
    expect(await ask(at(site))).toEqual(await ask('nobody-has-this.apps.test'));
  });

  test('a change of visibility applies at once', async () => {
    const site = await newSite('internet');
    await activate(site, await newRelease(site, { 'index.html': 'home' }));
    const open = await ask(at(site));
    expect([open.status, open.headers['cache-control']?.startsWith('public')]).toEqual([200, true]);
    await change(site, `update svc.apps set visibility = 'public' where id = $app`);
    expect(await ask(at(site))).toMatchObject({ status: 303 });
    const closed = await ask(at(site), '/', { cookie: 'in' });
    expect([closed.status, closed.headers['cache-control']?.startsWith('private')]).toEqual([200, true]);
  });
});

test('a switch by another copy of the server applies', async () => {
  const site = await newSite();
  const [one, two] = [
    await newRelease(site, { 'index.html': 'one' }),
    await newRelease(site, { 'index.html': 'two' }),
  ];
  await activate(site, one);
  expect((await ask(at(site))).text).toBe('one');
  await database.db.transaction().execute(async (tx) => {
    await sql`update svc.static_sites set active_release_id = ${two} where app_id = ${site.appId}`.execute(
      tx,
    );
    await sql.raw(notifySql.replace('$1', `'${appTag(site.appId)}'`)).execute(tx);
  });
  await until(async () => (await ask(at(site))).text === 'two');
});

test('under load each response is of one release, and of the new one after a switch', async () => {
  const site = await newSite();
  const paths = ['index.html', 'a.js', 'b.css'];
  const releases = await Promise.all(
    ['one', 'two', 'three'].map(async (name) => ({
      name,
      // Includes files of one release only: a path must never be answered from another release.
      id: await newRelease(
        site,
        Object.fromEntries([...paths, `only-${name}.txt`].map((path) => [path, `${name} ${path}`])),
      ),
    })),
  );
  await activate(site, releases[0]!.id);
  let isOver = false;
  let answers = 0;
  const faults: string[] = [];
  const visit = async (at: string) => {
    while (!isOver) {
      for (const path of ['/', '/a.js', '/b.css', '/only-one.txt', '/only-two.txt']) {
        const answer = await ask(at, path);
        answers++;
        const file = path === '/' ? 'index.html' : path.slice(1);
        const owner = answer.text.split(' ')[0] ?? '';
        const isRight =
          answer.status === 200
            ? answer.text === `${owner} ${file}` &&
              answer.headers.etag === `"${sha256(answer.text).slice(0, 32)}"`
            : answer.status === 404 && file.startsWith('only-');
        if (!isRight) faults.push(`${path} ${answer.status} ${answer.text}`);
      }
      await Bun.sleep(0);
    }
  };
  const visitors = Array.from({ length: 4 }, () => visit(at(site)));
  for (let turn = 0; turn < 60; turn++) {
    const { name, id } = releases[turn % releases.length]!;
    await activate(site, id);
    expect((await ask(at(site), '/a.js')).text).toBe(`${name} a.js`);
    expect((await ask(at(site), `/only-${name}.txt`)).status).toBe(200);
  }
  isOver = true;
  await Promise.all(visitors);
  expect(faults).toEqual([]);
  expect(answers).toBeGreaterThan(60);
});

test('an incomplete release is not served', async () => {
  const site = await newSite();
  const release = await newRelease(site, { 'index.html': 'home', 'a.js': 'a' });
  await sql`delete from svc.static_blobs where app_id = ${site.appId} and sha256 = ${sha256('a')}`.execute(
    database.db,
  );
  await activate(site, release);
  expect(await ask(at(site))).toMatchObject({ status: 503 });
});

test('blobs of another app with the same hash are not used', async () => {
  const [one, other] = [await newSite(), await newSite()];
  await newRelease(other, { 'index.html': 'same' });
  const release = await newRelease(one, { 'index.html': 'same' });
  await sql`delete from svc.static_blobs where app_id = ${one.appId}`.execute(database.db);
  await activate(one, release);
  expect(await ask(at(one))).toMatchObject({ status: 503 });
});

describe('a running app', () => {
  /** A deployed app with instances in these states. */
  async function deployed(
    site: Site,
    instances: readonly { address: string; state?: string; secondsAgo?: number }[],
    method = 'docker',
  ): Promise<void> {
    const { db } = database;
    const { appId, tenantId } = site;
    const id = Bun.randomUUIDv7();
    await sql`insert into svc.deployments (id, tenant_id, app_id, seq, kind, trigger, state, method, source, created_at)
      values (${id}, ${tenantId}, ${appId}, 1, 'deploy', 'person', 'live', ${method}, 'artifact', now())`.execute(
      db,
    );
    for (const [at, { address, state = 'ready', secondsAgo = 0 }] of instances.entries()) {
      await sql`insert into svc.app_instances (id, tenant_id, app_id, deployment_id, index, node, address, state, started_at,
          confirmed_at)
        values (${Bun.randomUUIDv7()}, ${tenantId}, ${appId}, ${id}, ${at + 1}, 'here', ${address}, ${state}, now(),
          now() - make_interval(secs => ${secondsAgo}))`.execute(db);
    }
    await change(site, 'update svc.apps set live_deployment_id = $1 where id = $app', [id]);
  }
  const source = () => ({
    db: database.db,
    contents: createReleaseContents({ filesMax: 100, onDropped: () => {} }),
    appAt: async () => null,
  });
  const appOf = async ({ subdomain }: Site, kind: 'app' | 'staging' = 'app') =>
    (await loadSite(source(), { kind, subdomain }))?.snapshot.app ?? null;

  test('gets requests at ready and recently confirmed instances only', async () => {
    const site = await newSite();
    await deployed(site, [
      { address: '127.0.0.1:2' },
      { address: '127.0.0.1:1', secondsAgo: 10 },
      { address: '127.0.0.1:3', secondsAgo: 20 },
      { address: '127.0.0.1:4', state: 'draining' },
      { address: '127.0.0.1:5', state: 'starting' },
    ]);
    expect((await appOf(site))?.addresses).toEqual(['127.0.0.1:1', '127.0.0.1:2']);
    expect(await appOf(site, 'staging')).toBeNull();
  });

  test('takes precedence over its site while it runs', async () => {
    const site = await newSite();
    await activate(site, await newRelease(site, { 'index.html': 'the site' }));
    const host = `${site.subdomain}.apps.test`;
    expect((await ask(host)).text).toBe('the site');
    await deployed(site, []);
    const answer = await edge.answer(testRequest('/', { host }));
    expect('proxy' in answer).toBe(true);
    await change(site, "update svc.apps set runtime = 'suspended' where id = $app");
    expect((await ask(host)).status).toBe(404);
    await change(site, "update svc.apps set runtime = 'running' where id = $app");
    await change(site, "update svc.deployments set method = 'static' where app_id = $app");
    expect((await ask(host)).text).toBe('the site');
  });

  test('gets no requests for platform paths and ACME challenges', async () => {
    const site = await newSite();
    await deployed(site, [{ address: '127.0.0.1:1' }]);
    const host = `${site.subdomain}.apps.test`;
    for (const path of ['/.svc/auth', '/.svc/anything', '/.well-known/acme-challenge/x'])
      expect([path, (await ask(host, path)).status]).toEqual([path, 404]);
  });
});
