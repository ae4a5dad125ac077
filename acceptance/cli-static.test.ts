import { beforeAll, describe, expect, test } from 'bun:test';
import { rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Svc, svcFor } from './support/commands.ts';
import { setApp } from './support/database.ts';
import { folderOf, freePort, root, temporaryFolder } from './support/server.ts';
import { until } from './support/until.ts';
import { newWorld, type World } from './support/world.ts';

let world: World;
let asOwner: Svc;
let asAdmin: Svc;

beforeAll(async () => {
  world = await newWorld();
  const { server, slug } = world.tenant;
  asOwner = svcFor(server, { token: world.people.O.token, tenant: slug });
  asAdmin = svcFor(server, { token: world.people.A.token, tenant: slug });
});

interface Release {
  id: string;
  number: number;
  version: string;
  state: string;
  roles: string[];
  files: number;
  pointer: string | null;
  url: string | null;
  uploaded: { files: number; bytes: number };
}

interface Site {
  id: string;
  slug: string;
  base: string;
  /** `svc apps static …` as the owner. */
  svc(...args: string[]): ReturnType<Svc>;
  deploy(folder: string, ...args: string[]): Promise<Release>;
}

async function newSite(): Promise<Site> {
  const slug = `s-${Bun.randomUUIDv7().replaceAll('-', '').slice(-20)}`;
  const body = { name: slug, slug, subdomain: slug, deploy_method: 'static' };
  const made = await world.as.O('POST', `${world.tenant.base}/apps`, body);
  expect(made.status).toBe(201);
  const svc = (...args: string[]) => asOwner(['apps', 'static', ...args, '--app', slug]);
  return {
    id: made.body.id,
    slug,
    svc,
    base: `${world.tenant.base}/apps/${slug}/static`,
    deploy: async (folder, ...args) => {
      const ran = await svc('deploy', '--from-dir', folder, '--execute', '--json', ...args);
      expect([ran.code, ran.stderr]).toEqual([0, expect.not.stringContaining('Error')]);
      return ran.json<Release>();
    },
  };
}

async function fails(ran: ReturnType<Svc>, exit: number, code: string): Promise<string> {
  const { code: ended, stdout, stderr } = await ran;
  expect([ended, stdout]).toEqual([exit, '']);
  expect(stderr).toContain(`(${code})`);
  return stderr;
}

/** No server listens here: a command that gets as far as a request exits with 12. */
const nowhere = { SVC_BASE_URL: `http://127.0.0.1:${freePort()}` };

describe('svc apps static deploy', () => {
  test('creates and activates a release of a folder; the next one uploads only changed files', async () => {
    const site = await newSite();
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
    const { slug, base } = await newSite();
    const project = folderOf({
      'svc.yaml': `app:\n  slug: ${slug}\nstatic:\n  dir: dist\nsite:\n  spa: true\n`,
      'dist/index.html': '<p>',
    });
    const ran = await asOwner(['apps', 'static', 'deploy', '--execute'], { cwd: project });
    expect([ran.code, ran.stdout]).toEqual([0, expect.stringContaining(`//${slug}.`)]);
    const { body } = await world.as.O('GET', `${base}/site`);
    expect([body.active_release.files, body.active_release.config]).toEqual([1, { spa: true }]);
  });

  test('reads the configuration above the folder, and none of another app', async () => {
    const site = await newSite();
    const outside = folderOf({
      'proj/svc.yaml': `app:\n  slug: ${site.slug}\nsite:\n  spa: true\n`,
      'proj/dist/index.html': '<p>',
    });
    const config = async (app: string, cwd: string, folder: string) => {
      const line = ['apps', 'static', 'deploy', '--app', app, '--from-dir', folder, '--execute', '--json'];
      const ran = await asOwner(line, { cwd });
      expect(ran.code).toBe(0);
      return [ran.json<{ config: object }>().config, ran.stderr] as const;
    };
    const [taken, notice] = await config(site.id, outside, 'proj/dist');
    expect([taken, notice]).toEqual([
      { spa: true },
      expect.stringMatching(/site configuration of .*proj\/svc\.yaml/),
    ]);
    const other = await newSite();
    const [none, why] = await config(other.slug, join(outside, 'proj'), 'dist');
    expect([none, why]).toEqual([{}, expect.stringContaining(`belongs to app ${site.slug}`)]);
  });

  test('exits 11 when a review is needed before it is visible, and prints what to do', async () => {
    const site = await newSite();
    const folder = folderOf({ 'index.html': '<p>one' });
    await setApp(world.tenant.server, site.id, { visibility: 'internet' });
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
      expect(await fails(asOwner(line, { env: nowhere }), 7, code)).toContain(text);
    }
  });

  test('resumes after an interruption, with the same draft', async () => {
    const site = await newSite();
    const count = 400;
    const folder = folderOf(
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`f${at}.txt`, `${at} ${site.slug}`])),
    );
    const { server, slug } = world.tenant;
    const line = ['apps', 'static', 'deploy', '--app', site.slug, '--from-dir', folder, '--execute'];
    const child = Bun.spawn([join(root, 'svc'), ...line], {
      env: {
        ...process.env,
        SVC_BASE_URL: server.baseUrl,
        SVC_TOKEN: world.people.O.token,
        SVC_TENANT: slug,
        SVC_CONFIG_DIR: join(temporaryFolder(), 'config'),
      },
      stdout: 'pipe',
      stderr: 'pipe',
    });
    const missingOf = async (id: string): Promise<number> =>
      (await world.as.O('POST', `${site.base}/releases/${id}/upload-grant`)).body.missing.length;
    const draft = await until('some files have arrived', async () => {
      const [release] = (await world.as.O('GET', `${site.base}/releases`)).body.items;
      return release !== undefined && (await missingOf(release.id)) < count && (release.id as string);
    });
    child.kill('SIGINT');
    expect([await child.exited, await new Response(child.stdout).text()]).toEqual([130, '']);
    expect(await new Response(child.stderr).text()).toMatch(/of 400 files are uploaded.*same command again/s);
    expect((await world.as.O('GET', `${site.base}/releases/${draft}`)).body.state).toBe('draft');
    const preview = await site.svc('deploy', '--from-dir', folder);
    expect([preview.code, preview.stdout]).toEqual([0, expect.stringContaining('started before')]);
    const left = await missingOf(draft);
    const done = await site.deploy(folder);
    expect([done.id, done.state, done.files]).toEqual([draft, 'finalized', count]);
    expect(done.uploaded.files).toBeWithin(1, left + 1);
    expect(left).toBeWithin(1, count);
  });

  test('uploads nothing when the plan is stale', async () => {
    const site = await newSite();
    const folder = folderOf({ 'index.html': '<p>' });
    const deploy = (...more: string[]) => site.svc('deploy', '--from-dir', folder, ...more);
    const { plan } = (await deploy('--json')).json<{ plan: { fingerprint: string; changes: unknown[] } }>();
    expect(plan.changes.length).toBeWithin(1, 20);
    writeFileSync(join(folder, 'index.html'), '<b>');
    await fails(deploy('--execute', '--plan', plan.fingerprint), 15, 'plan_stale');
    expect((await world.as.O('GET', `${site.base}/releases`)).body.total).toBe(0);
    writeFileSync(join(folder, 'index.html'), '<p>');
    expect((await deploy('--execute', '--plan', plan.fingerprint)).code).toBe(0);
  });
});

describe('svc apps static releases', () => {
  test('stages, promotes, rolls back, revokes and unpublishes, and prints the active release each time', async () => {
    const site = await newSite();
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

    await fails(site.svc('releases', 'stage', '--release-id', second.id, '--execute'), 6, 'staging_disabled');
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
      asAdmin(['apps', 'static', 'releases', how, ...of(second.id), '--execute', ...more]);
    expect((await decide('promote-reject', '--reason', 'no')).stdout).toContain('rejected');
    const next = await moves(second.id, 'promote-request');
    const { body } = await world.as.O('GET', `${site.base}/site`);
    const { staging_url, staged_release } = body;
    expect(next).toContain(staging_url);
    expect(next).toContain(`promote-approve --release-id 2 --digest ${staged_release.digest}`);
    const look = await asAdmin(['apps', 'static', 'releases', 'promote-approve', ...of('2')]);
    expect([look.code, look.stderr]).toEqual([0, expect.stringContaining(staging_url)]);
    await fails(decide('promote-approve', '--digest', '0'.repeat(64)), 6, 'staging_changed');
    expect((await decide('promote-approve', '--digest', staged_release.digest)).stdout).toMatch(
      /^Release 2 is active/,
    );
    await fails(site.svc('releases', 'revoke', '--release-id', second.id, '--execute'), 6, 'release_active');
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
    const site = await newSite();
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
    await fails(site.svc('site', 'unpublish', '--execute'), 6, 'nothing_active');
    const draft = (await create('index.html')).json<Release & { upload_url: string }>();
    await fails(one('finalize', draft.id), 6, 'release_incomplete');
    await fails(one('activate', draft.id), 6, 'release_not_finalized');
    const wrong = await fetch(`${draft.upload_url}${sha256}`, { method: 'PUT', body: 'two' });
    expect(((await wrong.json()) as { code: string }).code).toBe('digest_mismatch');
    expect((await fetch(`${draft.upload_url}${sha256}`, { method: 'PUT', body: 'one' })).ok).toBe(true);
    expect((await one('finalize', draft.id)).stdout).toContain('is finalized');
    await fails(one('rollback', draft.id), 6, 'not_rollback_target');
    await site.svc('site', 'staging', 'enable', '--execute');
    await fails(one('promote-request', draft.id), 6, 'not_staged');
    await fails(one('promote-reject', draft.id), 6, 'not_pending');
    await fails(one('promote-approve', draft.id), 4, 'forbidden');
    await one('stage', draft.id);
    await one('promote-request', draft.id);
    expect(await fails(one('promote-reject', draft.id), 4, 'self_approval')).toContain('staging disable');
    expect((await one('revoke', draft.id)).code).toBe(0);
    await fails(one('activate', draft.id), 6, 'release_revoked');
    await fails(
      one('get', Bun.randomUUIDv7()).then((ran) => ran),
      2,
      'usage',
    );
    await fails(site.svc('releases', 'get', '--release-id', Bun.randomUUIDv7()), 5, 'not_found');
    await fails(site.svc('releases', 'get', '--release-id', 'first'), 5, 'not_found');
    await fails(site.svc('releases', 'get', '--release-id', '77'), 5, 'not_found');
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
    const site = await newSite();
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
    const seen = async () => (await world.as.O('GET', `${site.base}/site`)).body.config;
    expect(await seen()).toEqual({ spa: true });
    const file = join(folderOf({ 'site.yaml': 'clean_urls: false\n' }), 'site.yaml');
    expect((await site.svc('site', 'set', '--from-file', file, '--execute')).code).toBe(0);
    expect(await seen()).toEqual({ clean_urls: false });
    const { visibility } = (await world.as.O('GET', `${world.tenant.base}/apps/${site.slug}`)).body;
    expect(visibility).toBe('private');
    rmSync(file);
  });

  test('prints, also with --execute, which release visitors get meanwhile', async () => {
    const site = await newSite();
    await site.deploy(folderOf({ 'index.html': '<p>' }));
    await setApp(world.tenant.server, site.id, { visibility: 'internet' });
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
      asOwner(['apps', 'static', 'site', 'set', '--app', 'x', ...args], { env: nowhere });
    const message = await fails(set('--from-file', file), 7, 'validation_failed');
    expect(message).toContain(`${file}:4:28: headers.0.headers.Set-Cookie`);
    expect(await fails(set('--body-json', '{"sap":1}'), 7, 'validation_failed')).toContain(
      'did you mean "spa"?',
    );
    await fails(set(), 2, 'usage');
    await fails(set('--body-json', '{}', '--from-file', file), 2, 'usage');
  });
});

test('a token with deploy in SVC_API_KEY deploys a site and rolls it back', async () => {
  const site = await newSite();
  const made = await world.as.O('POST', `${world.tenant.base}/pats`, {
    name: 'ci',
    actions: ['deploy'],
    apps: [site.id],
  });
  const asToken = (...args: string[]) =>
    asOwner(['apps', 'static', ...args, '--app', site.slug, '--json'], {
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

describe('svc apps static auth start', () => {
  test('prints only the URL, with a login and for visible sites', async () => {
    const site = await newSite();
    const { url } = await site.deploy(folderOf({ 'index.html': '<p>' }));
    const start = (svc: Svc, target: string, env = {}) =>
      svc(['apps', 'static', 'auth', 'start', '--target', target], { env });
    const ran = await start(asOwner, `${url}deep/page`);
    expect([ran.code, ran.stdout]).toEqual([0, expect.stringMatching(/^http:\/\/\S+\n$/)]);
    expect(new URL(ran.stdout.trim()).origin).toBe(new URL(url!).origin);
    await fails(start(asAdmin, `${url}`), 5, 'not_found');
    await fails(start(asOwner, 'http://example.com/'), 5, 'not_found');
    await fails(start(svcFor(world.tenant.server), `${url}`, { SVC_API_KEY: world.pat }), 3, 'not_logged_in');
    await fails(asOwner(['apps', 'static', 'auth', 'start']), 2, 'usage');
  });
});
