import { describe, expect, test } from 'bun:test';
import { sql } from 'kysely';
import { newSiteEnv, type SiteEnv, useSiteServer } from './testing.ts';

const shared = useSiteServer();

const configOf = async ({ call }: SiteEnv, id: string) => (await call('GET', `/releases/${id}`)).body.config;
const setVisibility = ({ app }: SiteEnv, visibility: string) =>
  sql`update svc.apps set visibility = ${visibility} where id = ${app.id}`.execute(shared.database.db);
const page = { 'index.html': 'x' };

describe('the configuration of a site', () => {
  test('is the default for releases without their own settings', async () => {
    const world = await newSiteEnv(shared.database, shared.server);
    await world.call('PUT', '/site', { spa: true, index: 'home.html' });
    const id = await world.release(page, { config: { index: 'own.html' } });
    expect(await configOf(world, id)).toEqual({ spa: true, index: 'own.html' });
    const set = await world.call('PUT', '/site', { clean_urls: false });
    expect([set.status, set.body.config]).toEqual([200, { clean_urls: false }]);
    expect(await configOf(world, id)).toEqual({ clean_urls: false, index: 'own.html' });
    expect((await world.call('PUT', '/site', { clean_urls: false })).body.changed).toBe(false);
  });

  test('accepts and ignores retired settings, with a notice', async () => {
    const { call } = await newSiteEnv(shared.database, shared.server);
    const body = { spa: true, visibility: 'internet', service_worker_allowed: true };
    const preview = await call('PUT', '/site?dry_run=true', body);
    expect(preview.body.plan.warnings).toHaveLength(2);
    const { status, body: answer } = await call('PUT', '/site', body);
    expect([status, answer.config, answer.notices.length]).toEqual([200, { spa: true }, 2]);
    expect((await call('GET', '/site')).body.config).toEqual({ spa: true });
  });

  test('is rejected with the path of the invalid field', async () => {
    const { call } = await newSiteEnv(shared.database, shared.server);
    const bad = { headers: [{ path: '/*', headers: { 'Set-Cookie': 'a=b' } }] };
    const { status, body } = await call('PUT', '/site', bad);
    expect([status, body.errors[0].field]).toEqual([400, 'headers.0.headers.Set-Cookie']);
    const large = {
      headers: Array.from({ length: 100 }, (_, at) => ({
        path: `/${at}`,
        headers: Object.fromEntries([1, 2].map((n) => [`x-${n}`, 'v'.repeat(1_900)])),
      })),
    };
    expect((await call('PUT', '/site', large)).body.code).toBe('validation_failed');
  });

  test('of an app that others see does not change active and reviewed releases', async () => {
    const world = await newSiteEnv(shared.database, shared.server);
    const { call, move, release } = world;
    await call('POST', '/site/staging/enable');
    const active = await release(page, { on_finalize: 'deploy' });
    await setVisibility(world, 'public');
    const reviewed = await release({ 'index.html': 'y' }, { on_finalize: 'deploy' });
    await move(reviewed, 'promote-request');
    await move(reviewed, 'promote-approve', 'admin');
    const waiting = await release({ 'index.html': 'z' });
    const preview = await call('PUT', '/site?dry_run=true', { spa: true });
    expect(preview.body.plan.warnings).toEqual([
      'It takes effect with the next promoted release; the active release stays as it is.',
    ]);
    await call('PUT', '/site', { spa: true });
    expect(await Promise.all([active, reviewed, waiting].map((id) => configOf(world, id)))).toEqual([
      // Active before the app was public, and never reviewed: gets the new configuration.
      { spa: true },
      {},
      { spa: true },
    ]);
    expect((await move(reviewed, 'activate')).body.changed).toBe(false);
    expect((await move(active, 'rollback')).body.code).toBe('promotion_required');
  });

  test('of a private app changes the active release, whose review then no longer counts', async () => {
    const world = await newSiteEnv(shared.database, shared.server, { visibility: 'invite_only' });
    const { call, move, release } = world;
    await call('POST', '/site/staging/enable');
    const promoted = async (text: string, config = {}) => {
      const id = await release({ 'index.html': text }, { on_finalize: 'deploy', config });
      await move(id, 'promote-request');
      expect((await move(id, 'promote-approve', 'admin')).status).toBe(200);
      return id;
    };
    const before = await promoted('before');
    const own = await promoted('own', { spa: false });
    const active = await promoted('active');
    await setVisibility(world, 'private');
    const { body } = await call('PUT', '/site?dry_run=true', { spa: true });
    expect(body.plan.warnings).toEqual([
      'The review of a release no longer counts, because its configuration changes.',
    ]);
    await call('PUT', '/site', { spa: true });
    const configOf = async (id: string) => {
      const { reviewed_for, config } = (await call('GET', `/releases/${id}`)).body;
      return [reviewed_for, config];
    };
    expect(await configOf(active)).toEqual([null, { spa: true }]);
    expect(await configOf(before)).toEqual(['invite_only', {}]);
    expect((await move(own, 'activate')).status).toBe(200);
    await call('PUT', '/site', { spa: false });
    // A release with its own configuration does not change.
    expect(await configOf(own)).toEqual(['invite_only', { spa: false }]);
  });

  test('increases the generation only if it changes the staged release', async () => {
    const { call, move, release } = await newSiteEnv(shared.database, shared.server);
    const generation = async () => (await call('GET', '/site')).body.generation as number;
    await call('PUT', '/site', { spa: true });
    const before = await generation();
    await call('POST', '/site/staging/enable');
    await move(await release(page), 'stage');
    expect(await generation()).toBe(before + 1);
    await call('PUT', '/site', { spa: false });
    expect(await generation()).toBe(before + 2);
    await move(await release({ 'index.html': 'own' }, { config: { spa: true } }), 'stage');
    await call('PUT', '/site', { spa: true });
    expect(await generation()).toBe(before + 3);
  });
});
