import { describe, expect, test } from 'bun:test';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expectFailure } from './support/commands.ts';
import { setApp } from './support/database.ts';
import { folderOf, root, temporaryFolder } from './support/server.ts';
import { type Release, unreachableServer, useStaticSites } from './support/static-sites.ts';
import { until } from './support/until.ts';

const env = useStaticSites();

describe('svc apps static deploy', () => {
  test('creates and activates a release of a folder; the next one uploads only changed files', async () => {
    const site = await env.newSite();
    const files = { 'index.html': '<p>one', 'a/b.css': 'b {}', 'a/copy.css': 'b {}', '.well-known/x': 'x' };
    const folder = folderOf({ ...files, '.env': 'SECRET=1', 'node_modules/a/a.js': '' });
    const first = await site.deploy(folder, '--release-version', 'v1');
    expect(first).toMatchObject({ number: 1, version: 'v1', files: 4, pointer: 'active', roles: ['active'] });
    expect([first.uploaded.files, first.url]).toEqual([3, expect.stringContaining(`//${site.slug}.`)]);
    writeFileSync(join(folder, 'index.html'), '<p>two');
    const second = await site.deploy(folder);
    expect([second.number, second.uploaded]).toEqual([2, { files: 1, bytes: 6 }]);
    expect(await site.deploy(folder)).toMatchObject({ number: 2, uploaded: { files: 0, bytes: 0 } });
    const preview = await site.svc('deploy', '--from-dir', folder);
    expect([preview.code, preview.stdout]).toEqual([0, expect.stringContaining('Nothing to do')]);
    const listed = await site.svc('releases', 'files', '--release-id', second.id, '--json');
    expect(listed.json<{ items: { path: string }[] }>().items.map(({ path }) => path)).toEqual([
      '.well-known/x',
      'a/b.css',
      'a/copy.css',
      'index.html',
    ]);
  });

  test('reads the app, the folder and the configuration from svc.yaml', async () => {
    const { slug, base } = await env.newSite();
    const project = folderOf({
      'svc.yaml': `app:\n  slug: ${slug}\nstatic:\n  dir: dist\nsite:\n  spa: true\n`,
      'dist/index.html': '<p>',
    });
    const ran = await env.asOwner(['apps', 'static', 'deploy', '--execute'], { cwd: project });
    expect([ran.code, ran.stdout]).toEqual([0, expect.stringContaining(`//${slug}.`)]);
    const { body } = await env.world.as.O('GET', `${base}/site`);
    expect([body.active_release.files, body.active_release.config]).toEqual([1, { spa: true }]);
  });

  test('reads the configuration above the folder, and none of another app', async () => {
    const site = await env.newSite();
    const outside = folderOf({
      'proj/svc.yaml': `app:\n  slug: ${site.slug}\nsite:\n  spa: true\n`,
      'proj/dist/index.html': '<p>',
    });
    const config = async (app: string, cwd: string, folder: string) => {
      const line = ['apps', 'static', 'deploy', '--app', app, '--from-dir', folder, '--execute', '--json'];
      const ran = await env.asOwner(line, { cwd });
      expect(ran.code).toBe(0);
      return [ran.json<{ config: object }>().config, ran.stderr] as const;
    };
    const [taken, notice] = await config(site.id, outside, 'proj/dist');
    expect([taken, notice]).toEqual([
      { spa: true },
      expect.stringMatching(/site configuration of .*proj\/svc\.yaml/),
    ]);
    const other = await env.newSite();
    const [none, why] = await config(other.slug, join(outside, 'proj'), 'dist');
    expect([none, why]).toEqual([{}, expect.stringContaining(`belongs to app ${site.slug}`)]);
  });

  test('exits 11 when a review is needed before it is visible, and prints what to do', async () => {
    const site = await env.newSite();
    const folder = folderOf({ 'index.html': '<p>one' });
    await setApp(env.world.tenant.server, site.id, { visibility: 'internet' });
    const kept = await site.svc('deploy', '--from-dir', folder, '--execute', '--json');
    expect([kept.code, kept.json<Release>().pointer]).toEqual([11, null]);
    expect(kept.stderr).toContain(`svc apps static site staging enable --app ${site.slug} --execute`);
    expect((await site.svc('site', 'staging', 'enable', '--execute')).code).toBe(0);
    writeFileSync(join(folder, 'index.html'), '<p>two');
    const staged = await site.svc('deploy', '--from-dir', folder, '--execute');
    expect([staged.code, staged.stderr]).toEqual([0, expect.stringContaining('promote-request')]);
  });

  test('refuses links, invalid names and configuration errors before any request', async () => {
    const linked = folderOf({ 'a.txt': '' });
    symlinkSync('/etc/hostname', join(linked, 'outward'));
    const cases: [string, string, string][] = [
      [linked, 'invalid_path', 'outward: is a symbolic link'],
      [folderOf({ 'a?.html': '' }), 'invalid_path', 'a?.html'],
      [folderOf({ 'a.html': '', 'A.html': '' }), 'path_collision', 'A.html'],
      [folderOf({ '.env': '' }), 'validation_failed', 'no file'],
      [folderOf({ a: '', 'svc.yaml': 'site:\n  spa: 1\n' }), 'validation_failed', 'svc.yaml:2:8: site.spa'],
    ];
    for (const [folder, code, text] of cases) {
      const line = ['apps', 'static', 'deploy', '--app', 'x', '--from-dir', folder, '--execute'];
      expect((await expectFailure(env.asOwner(line, { env: unreachableServer }), 7, code)).stderr).toContain(
        text,
      );
    }
  });

  test('resumes after an interruption, with the same draft', async () => {
    const site = await env.newSite();
    const count = 400;
    const folder = folderOf(
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`f${at}.txt`, `${at} ${site.slug}`])),
    );
    const { server, slug } = env.world.tenant;
    const line = ['apps', 'static', 'deploy', '--app', site.slug, '--from-dir', folder, '--execute'];
    const child = Bun.spawn([join(root, 'svc'), ...line], {
      env: {
        ...process.env,
        SVC_BASE_URL: server.baseUrl,
        SVC_TOKEN: env.world.people.O.token,
        SVC_TENANT: slug,
        SVC_CONFIG_DIR: join(temporaryFolder(), 'config'),
      },
      stdout: 'pipe',
      stderr: 'pipe',
    });
    const missingOf = async (id: string): Promise<number> =>
      (await env.world.as.O('POST', `${site.base}/releases/${id}/upload-grant`)).body.missing.length;
    const draft = await until('some files have arrived', async () => {
      const [release] = (await env.world.as.O('GET', `${site.base}/releases`)).body.items;
      return release !== undefined && (await missingOf(release.id)) < count && (release.id as string);
    });
    child.kill('SIGINT');
    expect([await child.exited, await new Response(child.stdout).text()]).toEqual([130, '']);
    expect(await new Response(child.stderr).text()).toMatch(/of 400 files are uploaded.*same command again/s);
    expect((await env.world.as.O('GET', `${site.base}/releases/${draft}`)).body.state).toBe('draft');
    const preview = await site.svc('deploy', '--from-dir', folder);
    expect([preview.code, preview.stdout]).toEqual([0, expect.stringContaining('started before')]);
    const left = await missingOf(draft);
    const done = await site.deploy(folder);
    expect([done.id, done.state, done.files]).toEqual([draft, 'finalized', count]);
    expect(done.uploaded.files).toBeWithin(1, left + 1);
    expect(left).toBeWithin(1, count);
  });

  test('uploads nothing when the plan is stale', async () => {
    const site = await env.newSite();
    const folder = folderOf({ 'index.html': '<p>' });
    const deploy = (...more: string[]) => site.svc('deploy', '--from-dir', folder, ...more);
    const { plan } = (await deploy('--json')).json<{ plan: { fingerprint: string; changes: unknown[] } }>();
    expect(plan.changes.length).toBeWithin(1, 20);
    writeFileSync(join(folder, 'index.html'), '<b>');
    await expectFailure(deploy('--execute', '--plan', plan.fingerprint), 15, 'plan_stale');
    expect((await env.world.as.O('GET', `${site.base}/releases`)).body.total).toBe(0);
    writeFileSync(join(folder, 'index.html'), '<p>');
    expect((await deploy('--execute', '--plan', plan.fingerprint)).code).toBe(0);
  });
});

test('a token with deploy in SVC_API_KEY deploys a site and rolls it back', async () => {
  const site = await env.newSite();
  const made = await env.world.as.O('POST', `${env.world.tenant.base}/pats`, {
    name: 'ci',
    actions: ['deploy'],
    apps: [site.id],
  });
  const asToken = (...args: string[]) =>
    env.asOwner(['apps', 'static', ...args, '--app', site.slug, '--json'], {
      env: { SVC_TOKEN: undefined, SVC_API_KEY: made.body.secret },
    });
  const deploy = async (text: string) => {
    const ran = await asToken('deploy', '--from-dir', folderOf({ 'index.html': text }), '--execute');
    expect([ran.code, ran.json<Release>().pointer]).toEqual([0, 'active']);
  };
  await deploy('<p>1');
  await deploy('<p>2');
  expect((await asToken('releases', 'rollback', '--release-id', '1', '--execute')).code).toBe(0);
  expect((await asToken('site', 'get')).json()).toMatchObject({ active_release: { number: 1 } });
  expect((await asToken('site', 'unpublish', '--execute')).code).toBe(3);
});
