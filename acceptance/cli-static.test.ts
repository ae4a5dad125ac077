import { describe, expect, test } from 'bun:test';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expectFailure, type Svc, svcFor } from './support/commands.ts';
import { setApp } from './support/database.ts';
import { folderOf } from './support/server.ts';
import { type Release, unreachableServer, useStaticSites } from './support/static-sites.ts';

const env = useStaticSites();

describe('svc apps static releases', () => {
  test('stages, promotes, rolls back, revokes and unpublishes, and prints the active release each time', async () => {
    const site = await env.newSite();
    const folder = folderOf({ 'index.html': '<p>one' });
    const moves = async (release: string, ...args: string[]) => {
      const ran = await site.svc('releases', ...args, '--release-id', release, '--execute');
      expect([args, ran.code, ran.stderr.includes('Error')]).toEqual([args, 0, false]);
      return `${ran.stdout}${ran.stderr}`;
    };
    const roles = async () => {
      const { items } = (await site.svc('releases', 'list', '--json')).json<{ items: Release[] }>();
      return items.map((release) => [release.number, ...release.roles]);
    };
    const first = await site.deploy(folder);
    writeFileSync(join(folder, 'index.html'), '<p>two');
    const second = await site.deploy(folder);
    expect(await roles()).toEqual([
      [2, 'active'],
      [1, 'superseded'],
    ]);
    expect(await moves('1', 'rollback')).toMatch(/^Release 1 is active: http/);
    expect(await moves('#1', 'activate')).toContain('was already active');

    await expectFailure(
      site.svc('releases', 'stage', '--release-id', second.id, '--execute'),
      6,
      'staging_disabled',
    );
    expect((await site.svc('site', 'staging', 'enable', '--execute')).stdout).toContain('--staging.');
    expect(await moves(second.id, 'stage')).toMatch(/^Release 2 is staged: http/);
    const asked = await site.svc(
      'releases',
      'promote-request',
      '--release-id',
      second.id,
      '--note',
      'look',
      '--execute',
      '--json',
    );
    expect(asked.json<{ status: string; note: string }>()).toMatchObject({ status: 'pending', note: 'look' });
    const of = (release: string) => ['--release-id', release, '--app', site.slug];
    const decide = (how: string, ...more: string[]) =>
      env.asAdmin(['apps', 'static', 'releases', how, ...of(second.id), '--execute', ...more]);
    expect((await decide('promote-reject', '--reason', 'no')).stdout).toContain('rejected');
    const next = await moves(second.id, 'promote-request');
    const { body } = await env.world.as.O('GET', `${site.base}/site`);
    const { staging_url, staged_release } = body;
    expect(next).toContain(staging_url);
    expect(next).toContain(`promote-approve --release-id 2 --digest ${staged_release.digest}`);
    const look = await env.asAdmin(['apps', 'static', 'releases', 'promote-approve', ...of('2')]);
    expect([look.code, look.stderr]).toEqual([0, expect.stringContaining(staging_url)]);
    await expectFailure(decide('promote-approve', '--digest', '0'.repeat(64)), 6, 'staging_changed');
    expect((await decide('promote-approve', '--digest', staged_release.digest)).stdout).toMatch(
      /^Release 2 is active/,
    );
    await expectFailure(
      site.svc('releases', 'revoke', '--release-id', second.id, '--execute'),
      6,
      'release_active',
    );
    expect(await moves(first.id, 'revoke')).toContain('Release 1 is revoked');
    const unpublished = await site.svc('site', 'unpublish', '--execute');
    expect([unpublished.stdout, unpublished.stderr]).toEqual([
      expect.stringMatching(/published +false/),
      expect.stringContaining(`releases activate --release-id 2 --app ${site.slug} --execute`),
    ]);
    expect((await site.svc('site', 'unpublish', '--execute')).stderr).toContain('already unpublished');
    expect((await site.svc('site', 'get')).stdout).toContain('(unpublished)');
    expect(await moves(second.id, 'activate')).toContain('is active');
    expect((await site.svc('site', 'staging', 'disable', '--execute')).stdout).toMatch(
      /staging_enabled +false/,
    );
  });

  test('refuse what is not allowed, each by its own code', async () => {
    const site = await env.newSite();
    const one = (what: string, id: string) => site.svc('releases', what, '--release-id', id, '--execute');
    const sha256 = new Bun.CryptoHasher('sha256').update('one').digest('hex');
    const create = (...paths: string[]) =>
      site.svc(
        'releases',
        'create',
        '--execute',
        '--json',
        '--body-json',
        JSON.stringify({ files: paths.map((path) => ({ path, sha256, size: 3 })) }),
      );
    await expectFailure(site.svc('site', 'unpublish', '--execute'), 6, 'nothing_active');
    const draft = (await create('index.html')).json<Release & { upload_url: string }>();
    await expectFailure(one('finalize', draft.id), 6, 'release_incomplete');
    await expectFailure(one('activate', draft.id), 6, 'release_not_finalized');
    const wrong = await fetch(`${draft.upload_url}${sha256}`, { method: 'PUT', body: 'two' });
    expect(((await wrong.json()) as { code: string }).code).toBe('digest_mismatch');
    expect((await fetch(`${draft.upload_url}${sha256}`, { method: 'PUT', body: 'one' })).ok).toBe(true);
    expect((await one('finalize', draft.id)).stdout).toContain('is finalized');
    await expectFailure(one('rollback', draft.id), 6, 'not_rollback_target');
    await site.svc('site', 'staging', 'enable', '--execute');
    await expectFailure(one('promote-request', draft.id), 6, 'not_staged');
    await expectFailure(one('promote-reject', draft.id), 6, 'not_pending');
    await expectFailure(one('promote-approve', draft.id), 4, 'forbidden');
    await one('stage', draft.id);
    await one('promote-request', draft.id);
    expect((await expectFailure(one('promote-reject', draft.id), 4, 'self_approval')).stderr).toContain(
      'staging disable',
    );
    expect((await one('revoke', draft.id)).code).toBe(0);
    await expectFailure(one('activate', draft.id), 6, 'release_revoked');
    await expectFailure(
      one('get', Bun.randomUUIDv7()).then((ran) => ran),
      2,
      'usage',
    );
    await expectFailure(site.svc('releases', 'get', '--release-id', Bun.randomUUIDv7()), 5, 'not_found');
    await expectFailure(site.svc('releases', 'get', '--release-id', 'first'), 5, 'not_found');
    await expectFailure(site.svc('releases', 'get', '--release-id', '77'), 5, 'not_found');
    for (const [paths, code] of [
      [['../up'], 'invalid_path'],
      [['a', 'A'], 'path_collision'],
    ] as const) {
      const ran = await create(...paths);
      expect([ran.code, JSON.parse(ran.stderr).code]).toEqual([7, code]);
    }
  });
});

describe('svc apps static site set', () => {
  test('accepts JSON, a file, and deprecated flags, which it names and ignores', async () => {
    const site = await env.newSite();
    const set = await site.svc(
      'site',
      'set',
      '--body-json',
      '{"spa":true,"visibility":"internet"}',
      '--visibility',
      'internet',
      '--service-worker-allowed',
      '--service-worker-disallowed',
      '--execute',
    );
    expect(set.code).toBe(0);
    for (const name of [
      '--visibility',
      '--service-worker-allowed',
      '--service-worker-disallowed',
      'visibility',
    ])
      expect(set.stderr).toContain(`${name} is ignored`);
    const seen = async () => (await env.world.as.O('GET', `${site.base}/site`)).body.config;
    expect(await seen()).toEqual({ spa: true });
    const file = join(folderOf({ 'site.yaml': 'clean_urls: false\n' }), 'site.yaml');
    expect((await site.svc('site', 'set', '--from-file', file, '--execute')).code).toBe(0);
    expect(await seen()).toEqual({ clean_urls: false });
    const { visibility } = (await env.world.as.O('GET', `${env.world.tenant.base}/apps/${site.slug}`)).body;
    expect(visibility).toBe('private');
    rmSync(file);
  });

  test('prints, also with --execute, which release visitors get meanwhile', async () => {
    const site = await env.newSite();
    await site.deploy(folderOf({ 'index.html': '<p>' }));
    await setApp(env.world.tenant.server, site.id, { visibility: 'internet' });
    const set = await site.svc('site', 'set', '--body-json', '{"spa":true}', '--execute');
    expect([set.code, set.stderr]).toEqual([0, expect.stringContaining('the active release stays as it is')]);
    const { stdout } = await site.svc('site', 'get');
    expect(stdout).toMatch(/config +\{"spa":true\}\neffective config +\{\}/);
  });

  test('names file, line and key of an error, and needs one of the two sources', async () => {
    const file = join(
      folderOf({ 'site.yaml': 'spa: true\nheaders:\n  - path: /*\n    headers: { Set-Cookie: a=b }\n' }),
      'site.yaml',
    );
    const set = (...args: string[]) =>
      env.asOwner(['apps', 'static', 'site', 'set', '--app', 'x', ...args], { env: unreachableServer });
    const { stderr: message } = await expectFailure(set('--from-file', file), 7, 'validation_failed');
    expect(message).toContain(`${file}:4:28: headers.0.headers.Set-Cookie`);
    expect((await expectFailure(set('--body-json', '{"sap":1}'), 7, 'validation_failed')).stderr).toContain(
      'did you mean "spa"?',
    );
    await expectFailure(set(), 2, 'usage');
    await expectFailure(set('--body-json', '{}', '--from-file', file), 2, 'usage');
  });
});

describe('svc apps static auth start', () => {
  test('prints only the URL, with a login and for visible sites', async () => {
    const site = await env.newSite();
    const { url } = await site.deploy(folderOf({ 'index.html': '<p>' }));
    const start = (svc: Svc, target: string, env = {}) =>
      svc(['apps', 'static', 'auth', 'start', '--target', target], { env });
    const ran = await start(env.asOwner, `${url}deep/page`);
    expect([ran.code, ran.stdout]).toEqual([0, expect.stringMatching(/^http:\/\/\S+\n$/)]);
    expect(new URL(ran.stdout.trim()).origin).toBe(new URL(url!).origin);
    await expectFailure(start(env.asAdmin, `${url}`), 5, 'not_found');
    await expectFailure(start(env.asOwner, 'http://example.com/'), 5, 'not_found');
    await expectFailure(
      start(svcFor(env.world.tenant.server), `${url}`, { SVC_API_KEY: env.world.pat }),
      3,
      'not_logged_in',
    );
    await expectFailure(env.asOwner(['apps', 'static', 'auth', 'start']), 2, 'usage');
  });
});
