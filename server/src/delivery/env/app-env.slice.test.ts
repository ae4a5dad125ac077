import { describe, expect, test } from 'bun:test';
import { envVariablesMax } from '@svc/contract/deployments.ts';
import { perPageMax } from '@svc/contract/limits.ts';
import { sql } from 'kysely';
import { newApp } from '../../apps/record/testing.ts';
import { enableStorageForApp } from '../../data/storage/storage.ts';
import {
  loginHeaders,
  peopleRoutes,
  startServerCopy,
  testOrigin,
  useServer,
} from '../../identity/provider/testing.ts';
import { newTenant, newUser, testMutation } from '../../testing.ts';
import { findLiveDeployment, openEnv, sealEnv } from '../deployments/deployment-record.ts';
import { appEnvRoutes } from '../routes.ts';
import { loadEnv } from './env.ts';
import { platformEnv } from './platform-env.ts';

const urls = {
  baseUrl: testOrigin,
  appsDomain: 'apps.example.test',
  runtime: { kind: 'process' as const },
  findLiveDeployment,
};
const { database, server } = useServer((opened) =>
  startServerCopy(opened, undefined, [...peopleRoutes, ...appEnvRoutes(urls)]),
);

async function world() {
  const { db } = database;
  const { tenant, admin, member } = await newTenant(db);
  const owner = await newUser(db, tenant.id);
  const app = await newApp(db, tenant, owner, { visibility: 'public' });
  const path = `/api/v1/tenants/${tenant.slug}/apps/${app.id}/env`;
  const login = await loginHeaders(database, owner);
  const change = (body: unknown, query = '', as = login) => server.call(as, 'PATCH', `${path}${query}`, body);
  const list = (as = login, query = '') => server.call(as, 'GET', `${path}${query}`);
  const names = async (by: 'app' | 'platform' | 'manifest') =>
    (await list(undefined, `?per_page=${perPageMax}`)).body.items
      .filter(({ given_by }: { given_by: string }) => given_by === by)
      .map(({ name }: { name: string }) => name);
  return {
    tenant,
    admin,
    member,
    owner,
    app,
    appRef: { tenantId: tenant.id, appId: app.id },
    change,
    list,
    names,
  };
}

const secret = 'correct horse battery staple';

describe('variables of an app', () => {
  test('are set, changed and unset, and only the app sees their values', async () => {
    const { change, names, appRef } = await world();
    expect((await change({ set: { API_KEY: secret, MODE: 'a' } })).status).toBe(200);
    expect(await loadEnv(database.db, appRef)).toEqual({ API_KEY: secret, MODE: 'a' });
    const second = await change({ set: { MODE: '' }, unset: ['API_KEY', 'NOT_THERE'] });
    expect([second.status, second.body.changed, JSON.stringify(second.body).includes(secret)]).toEqual([
      200,
      undefined,
      false,
    ]);
    expect([await names('app'), await loadEnv(database.db, appRef)]).toEqual([['MODE'], { MODE: '' }]);
  });

  test('with the same value are not a change', async () => {
    const { change, list } = await world();
    await change({ set: { A: secret } });
    const before = (await list()).body;
    const again = await change({ set: { A: secret }, unset: ['B'] });
    expect([again.status, again.body.changed]).toEqual([200, false]);
    expect((await list()).body).toEqual(before);
    expect((await change({ set: { A: secret } }, '?dry_run=true')).body.plan.changes).toEqual([]);
  });

  test('appear in plan and audit by name only', async () => {
    const { app, change, tenant } = await world();
    await change({ set: { OLD: `${secret} old`, GONE: `${secret} gone` } });
    const wish = { set: { OLD: `${secret} new`, NEW: secret }, unset: ['GONE'] };
    const { body } = await change(wish, '?dry_run=true');
    expect(
      body.plan.changes.map(({ path, before, after }: Record<string, unknown>) => [path, before, after]),
    ).toEqual([
      ['NEW', null, 'set'],
      ['OLD', 'set', 'changed'],
      ['GONE', 'set', null],
    ]);
    await change(wish);
    const { rows } = await sql<{ all: string }>`
      select coalesce(string_agg(e::text, ' '), '') as all from svc.audit_entries e
      where tenant_id = ${tenant.id}`.execute(database.db);
    const sums = [secret, `${secret} new`].map((text) =>
      new Bun.CryptoHasher('sha256').update(text).digest('hex'),
    );
    expect(rows[0]?.all).toContain('env.change');
    for (const value of [secret, 'battery', ...sums])
      expect([value, rows[0]?.all.includes(value)]).toEqual([value, false]);
    const { rows: stored } = await sql<{ value: Buffer }>`
      select value_sealed as value from svc.app_env where app_id = ${app.id}`.execute(database.db);
    for (const { value } of stored) expect(value.includes('battery')).toBe(false);
  });

  test('of a preview are not stored', async () => {
    const { change, names } = await world();
    expect((await change({ set: { A: 'b' } }, '?dry_run=true')).body.dry_run).toBe(true);
    expect(await names('app')).toEqual([]);
  });

  test('are listed in pages', async () => {
    const { change, list } = await world();
    const set = Object.fromEntries(Array.from({ length: envVariablesMax }, (_, at) => [`V${at}`, '']));
    await change({ set });
    const { body: all } = await list(undefined, `?per_page=${perPageMax}`);
    expect(all).toMatchObject({ page: 1, per_page: perPageMax, total: all.items.length });
    expect(all.total).toBeGreaterThan(envVariablesMax);
    const { body: first } = await list();
    const { body: last } = await list(undefined, '?page=3');
    expect(first).toEqual({ items: all.items.slice(0, 50), page: 1, per_page: 50, total: all.total });
    expect(last).toEqual({ items: all.items.slice(100), page: 3, per_page: 50, total: all.total });
    expect((await list(undefined, '?per_page=201')).status).toBe(400);
  });

  test('cannot be opened in another row', async () => {
    const { change, appRef } = await world();
    await change({ set: { A: 'one', B: 'two' } });
    await sql`update svc.app_env a set value_sealed = b.value_sealed from svc.app_env b
      where a.app_id = ${appRef.appId} and b.app_id = a.app_id and a.name = 'A' and b.name = 'B'`.execute(
      database.db,
    );
    expect(loadEnv(database.db, appRef)).rejects.toThrow();
  });

  test('are limited in number', async () => {
    const { change } = await world();
    const many = (count: number, word: string) =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`${word}_${at}`, 'x']));
    expect((await change({ set: many(envVariablesMax, 'A') })).status).toBe(200);
    expect((await change({ set: { B: 'x' } })).body.code).toBe('limit_reached');
    expect((await change({ set: { B: 'x' }, unset: ['A_0'] })).status).toBe(200);
    expect((await change({ set: { A_1: 'other' } })).status).toBe(200);
  });

  test.each([
    [{ set: { PORT: '1' } }],
    [{ set: { SVC_APP: 'x' } }],
    [{ set: { LD_PRELOAD: 'x' } }],
    [{ set: { 'A-B': 'x' } }],
    [{ set: { '1A': 'x' } }],
    [{ set: { A: 'x\u0000y' } }],
    [{ set: { A: 'x'.repeat(40_000) } }],
    [{ set: { A: 1 } }],
    [{ set: {}, unset: [] }],
    [{ set: { A: 'x' }, unset: ['A'] }],
    [{ unset: ['PATH'] }],
  ])('are rejected if invalid: %#', async (wish) => {
    const { change, names } = await world();
    const { status, body } = await change(wish);
    expect([status, JSON.stringify(body).includes('xxxx')]).toEqual([400, false]);
    expect(await names('app')).toEqual([]);
  });

  test('are only for owners, and for apps that are not archived', async () => {
    const { admin, app, change, list, member } = await world();
    for (const person of [admin, member]) {
      const login = await loginHeaders(database, person);
      expect([(await list(login)).status, (await change({ set: { A: 'x' } }, '', login)).status]).toEqual([
        403, 403,
      ]);
    }
    await sql`update svc.apps set record = 'archived' where id = ${app.id}`.execute(database.db);
    expect((await change({ set: { A: 'x' } })).body.code).toBe('app_not_active');
    expect((await list()).status).toBe(200);
  });
});

describe('variables of the platform', () => {
  test('are listed with those of the owners, each name once', async () => {
    const { change, list, names } = await world();
    await change({ set: { DATABASE_URL: 'postgres://elsewhere', A: 'x' } });
    expect(await names('app')).toEqual(['A', 'DATABASE_URL']);
    const given = await names('platform');
    expect(given).toContain('SVC_APP_ID');
    expect(given).toContain('PORT');
    expect(given).not.toContain('DATABASE_URL');
    const all = (await list()).body.items.map(({ name }: { name: string }) => name);
    expect(new Set(all).size).toBe(all.length);
  });

  test('are listed as a running app sees them, with the commit if there is one', async () => {
    const { names, change, appRef } = await world();
    const ofProcess = ['HOME', 'HOST', 'LANG', 'NODE_ENV', 'PATH', 'PORT', 'SVC_RUN_ID', 'TMPDIR'];
    expect(await names('platform')).toEqual(expect.arrayContaining(ofProcess));
    expect([await names('manifest'), (await names('platform')).includes('SVC_COMMIT')]).toEqual([[], false]);
    const env = { GREETING: secret, NODE_ENV: 'test', PORT: '1', SVC_APP: 'x', MODE: 'a', USER: 'x' };
    const live = async (commit: string | null, seq: number) =>
      sql`insert into svc.deployments
          (id, tenant_id, app_id, seq, kind, trigger, state, method, source, commit_sha, start_with, created_at)
        values (${Bun.randomUUIDv7()}, ${appRef.tenantId}, ${appRef.appId}, ${seq}, 'deploy', 'person', 'live', 'docker',
          'upload', ${commit}, ${JSON.stringify({ health: { path: null, timeoutMs: 1 }, env })}, now())`.execute(
        database.db,
      );
    await live(null, 1);
    await change({ set: { MODE: 'b' } });
    expect(await names('manifest')).toEqual(['GREETING', 'NODE_ENV', 'USER']);
    expect(await names('app')).toEqual(['MODE']);
    const given = await names('platform');
    expect(given).toEqual(expect.arrayContaining(['PORT', 'SVC_APP']));
    expect([given.includes('NODE_ENV'), given.includes('SVC_COMMIT')]).toEqual([false, false]);
    await sql`update svc.deployments set state = 'superseded' where app_id = ${appRef.appId}`.execute(
      database.db,
    );
    await live('c0ffee', 2);
    expect(await names('platform')).toContain('SVC_COMMIT');
  });

  test('contain the URLs of the app and of its storage, if enabled', async () => {
    const { app, owner, appRef, tenant } = await world();
    const deployment = { ...appRef, deploymentId: 'd', commit: 'c0ffee' };
    const before = await platformEnv(database.db, urls, deployment);
    expect(before.run).toMatchObject({
      SVC_BASE_URL: testOrigin,
      SVC_TENANT: tenant.slug,
      SVC_APP: app.slug,
      SVC_APP_ID: app.id,
      SVC_DEPLOYMENT_ID: 'd',
      SVC_COMMIT: 'c0ffee',
    });
    expect(before.run.SVC_STORAGE_URL).toBeUndefined();
    await testMutation(database.db, owner, (ctx) => enableStorageForApp(ctx, app), { context: { tenant } });
    const { run, build } = await platformEnv(database.db, urls, deployment);
    expect(run.SVC_STORAGE_URL).toBe(`${testOrigin}/api/v1/tenants/${tenant.id}/apps/${app.id}/storage`);
    expect(Object.keys(build)).not.toContain('DATABASE_URL');
  });

  test('are only for the app in its own tenant', async () => {
    const [one, other] = [await world(), await world()];
    const mixed = {
      tenantId: other.appRef.tenantId,
      appId: one.appRef.appId,
      deploymentId: 'd',
      commit: null,
    };
    expect(platformEnv(database.db, urls, mixed)).rejects.toThrow('not_found');
    expect(await loadEnv(database.db, mixed)).toEqual({});
  });
});

test('a sealed environment can be opened only for its deployment', async () => {
  const [one, other] = [Bun.randomUUIDv7(), Bun.randomUUIDv7()];
  const sealed = await sealEnv(database.db, { deploymentId: one, env: { A: secret } });
  expect(sealed.includes('battery')).toBe(false);
  expect(await openEnv(database.db, { deploymentId: one, sealed })).toEqual({ A: secret });
  expect(openEnv(database.db, { deploymentId: other, sealed })).rejects.toThrow();
});
