import { beforeAll, describe, expect, test } from 'bun:test';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newApp } from './support/people.ts';
import { sharedServer, startServer, temporaryFolder } from './support/server.ts';
import { filesOf, listKeys, newStorageApp, put, type StorageApp, signUpload } from './support/storage.ts';
import { until } from './support/until.ts';

describe('svc apps storage', () => {
  let env: StorageApp;
  let folder: string;
  beforeAll(async () => {
    env = await newStorageApp(await sharedServer());
    folder = temporaryFolder();
    writeFileSync(join(folder, 'rex.txt'), 'Rex is a dog.');
  });

  test('cp of a folder skips links and reports them; a download needs no preview', async () => {
    const source = temporaryFolder();
    writeFileSync(join(source, 'a.txt'), 'a');
    symlinkSync('/etc/passwd', join(source, 'link'));
    const prefix = `links-${Bun.randomUUIDv7()}`;
    const ran = await env.storage('cp', '-r', source, `:${prefix}`, '--execute');
    expect([ran.code, ran.stderr]).toEqual([0, `${join(source, 'link')} is a link and is skipped.\n`]);
    const listed = await env.storage('ls', '--prefix', `${prefix}/`, '--json');
    expect(listed.json<{ items: { key: string }[] }>().items.map(({ key }) => key)).toEqual([
      `${prefix}/a.txt`,
    ]);
    const target = join(source, 'a.txt');
    writeFileSync(target, 'keep');
    expect((await env.storage('cp', `:${prefix}/a.txt`, target, '--dry-run')).code).toBe(2);
    expect(readFileSync(target, 'utf8')).toBe('keep');
  });

  test('status shows whether storage is enabled, and enabling again changes nothing', async () => {
    const app = await newApp(env.tenant, { owner: env.owner, coOwner: env.owner });
    const run = (...args: string[]) => env.svc(['apps', 'storage', ...args, '--app', app.slug, '--json']);
    expect((await run('status')).json()).toMatchObject({ enabled: false, objects: 0, bytes: 0 });
    const ls = await run('ls');
    expect([ls.code, JSON.parse(ls.stderr).code]).toEqual([6, 'storage_not_enabled']);
    expect((await run('enable')).json()).toMatchObject({ dry_run: true });
    expect((await run('enable', '--execute')).json()).toMatchObject({ enabled: true });
    expect((await run('enable', '--execute')).json()).toMatchObject({ enabled: true, changed: false });
    expect((await run('status')).json()).toMatchObject({ enabled: true });
  });

  test('an app may be created with storage', async () => {
    const created = await env.owner.call('POST', `${env.tenant.base}/apps`, {
      name: `with-${Bun.randomUUIDv7().slice(-12)}`,
      storage: { enabled: true },
    });
    expect(created.status).toBe(201);
    const { body } = await env.owner.call('GET', `${env.tenant.base}/apps/${created.body.id}/storage`);
    expect(body.enabled).toBe(true);
  });

  test('put previews and uploads an object unchanged', async () => {
    const file = join(folder, 'rex.txt');
    const preview = await env.storage('put', file, 'pets/', '--json');
    expect(preview.json()).toMatchObject({
      plan: { operation: 'storage.signUpload', target: { name: 'pets/rex.txt' } },
    });
    expect(await listKeys(env)).not.toContain('pets/rex.txt');
    const { plan } = preview.json<{ plan: { fingerprint: string } }>();
    const done = await env.storage('put', file, 'pets/', '--execute', '--plan', plan.fingerprint, '--json');
    expect(done.json()).toMatchObject({ key: 'pets/rex.txt', size: 13, content_type: 'text/plain' });
    // The preview showed a new object.
    const stale = await env.storage('put', file, 'pets/', '--execute', '--plan', plan.fingerprint, '--json');
    expect(stale.code).toBe(15);
    const { url } = (await env.storage('get-url', 'pets/rex.txt', '--json')).json<{ url: string }>();
    expect(url.startsWith(`${env.tenant.server.baseUrl}/objects/`)).toBe(true);
    const got = await fetch(url);
    expect([got.status, got.headers.get('content-type'), await got.text()]).toEqual([
      200,
      'text/plain',
      'Rex is a dog.',
    ]);
    expect(got.headers.get('content-disposition')).toBe("attachment; filename*=UTF-8''rex.txt");
    expect(got.headers.get('x-content-type-options')).toBe('nosniff');
  });

  test('put uploads standard input under a key', async () => {
    const piped = (args: string[]) =>
      env.svc(['apps', 'storage', 'put', '-', ...args, '--app', env.app.slug, '--execute', '--json'], {
        stdin: 'piped',
      });
    expect((await piped(['in.json'])).json()).toMatchObject({
      key: 'in.json',
      size: 5,
      content_type: 'application/json',
    });
    expect((await piped([])).code).toBe(2);
    const missing = await env.storage('put', join(folder, 'none'), 'x', '--execute', '--json');
    expect([missing.code, JSON.parse(missing.stderr).code]).toEqual([2, 'file_unreadable']);
  });

  test('ls shows one level of folders, pages, and all pages', async () => {
    const own = await newStorageApp(env.tenant.server);
    for (const key of ['a', 'b/1', 'b/2', 'c/d/1', 'e']) await put(await signUpload(own, key), key);
    const ls = async (...args: string[]) =>
      (await own.storage('ls', ...args, '--json')).json<{
        items: { key: string }[];
        prefixes: string[];
        next_cursor: string | null;
      }>();
    const top = await ls('--delimiter', '/');
    expect([top.items.map(({ key }) => key), top.prefixes, top.next_cursor]).toEqual([
      ['a', 'e'],
      ['b/', 'c/'],
      null,
    ]);
    const first = await ls('--limit', '2');
    const second = await ls('--limit', '2', '--cursor', first.next_cursor!);
    expect([...first.items, ...second.items].map(({ key }) => key)).toEqual(['a', 'b/1', 'b/2', 'c/d/1']);
    expect((await ls('--limit', '2', '--all')).items).toHaveLength(5);
    expect((await ls('--prefix', 'b/')).items.map(({ key }) => key)).toEqual(['b/1', 'b/2']);
    const bad = await own.storage('ls', '--cursor', 'x', '--json');
    expect([bad.code, JSON.parse(bad.stderr).code]).toEqual([7, 'invalid_cursor']);
    const text = (await own.storage('ls', '--delimiter', '/')).stdout;
    expect(
      text
        .split('\n')
        .slice(1, 5)
        .map((line) => line.split(' ')[0]),
    ).toEqual(['a', 'b/', 'c/', 'e']);
  });

  test('rm deletes permanently, and warns that it cannot be undone', async () => {
    await put(await signUpload(env, 'gone'), 'x');
    const preview = await env.storage('rm', 'gone', '--json');
    expect(preview.json()).toMatchObject({ plan: { irreversible: true } });
    expect(await listKeys(env)).toContain('gone');
    expect((await env.storage('rm', 'gone', '--execute', '--json')).json()).toEqual({
      deleted: true,
      key: 'gone',
    });
    expect(await listKeys(env)).not.toContain('gone');
    expect((await env.storage('rm', 'gone', '--execute')).code).toBe(5);
  });

  test('cp downloads, copies within the storage, prints, and distinguishes keys from paths', async () => {
    await put(await signUpload(env, 'from/a.bin'), new Uint8Array([0, 255, 10, 13]));
    const to = temporaryFolder();
    expect((await env.storage('cp', ':from/a.bin', to, '--json')).json()).toMatchObject({
      file: join(to, 'a.bin'),
      bytes: 4,
    });
    expect([...readFileSync(join(to, 'a.bin'))]).toEqual([0, 255, 10, 13]);
    expect((await env.storage('cp', ':from/a.bin', ':to/', '--json')).json()).toMatchObject({
      dry_run: true,
    });
    expect((await env.storage('cp', ':from/a.bin', ':to/', '--execute', '--json')).json()).toMatchObject({
      key: 'to/a.bin',
    });
    await env.storage('cp', join(folder, 'rex.txt'), ':shown.txt', '--execute');
    expect((await env.storage('cp', ':shown.txt', '-')).stdout).toBe('Rex is a dog.');
    expect((await env.storage('cp', 'a', 'b')).code).toBe(2);
    const missing = await env.storage('cp', ':none', join(to, 'none'), '--json');
    expect([missing.code, readdirSync(to)]).toEqual([5, ['a.bin']]);
  });

  test('cp --recursive uploads, copies and downloads a whole folder', async () => {
    const own = await newStorageApp(env.tenant.server);
    const from = temporaryFolder();
    mkdirSync(join(from, 'sub/deep'), { recursive: true });
    const contents = { 'one.txt': '1', 'sub/two.json': '{}', 'sub/deep/ü x.bin': 'three' };
    for (const [name, text] of Object.entries(contents)) writeFileSync(join(from, name), text);
    const preview = (await own.storage('cp', '-r', from, ':up', '--json')).json<{
      plan: { changes: { path: string }[]; fingerprint: string };
    }>();
    expect(preview.plan.changes.map(({ path }) => path).sort()).toEqual([
      'up/one.txt',
      'up/sub/deep/ü x.bin',
      'up/sub/two.json',
    ]);
    expect(await listKeys(own)).toEqual([]);
    const { fingerprint } = preview.plan;
    const done = await own.storage('cp', '-r', from, ':up', '--execute', '--plan', fingerprint, '--json');
    expect(done.json()).toEqual({ target: ':up', objects: 3, bytes: 8 });
    expect((await own.storage('cp', '-r', from, ':up', '--execute', '--plan', fingerprint)).code).toBe(15);
    expect((await own.storage('cp', '-r', ':up', ':kept', '--execute')).code).toBe(0);
    const back = join(temporaryFolder(), 'back');
    expect((await own.storage('cp', '-r', ':kept', back)).code).toBe(0);
    for (const [name, text] of Object.entries(contents))
      expect([name, readFileSync(join(back, name), 'utf8')]).toEqual([name, text]);
    expect((await own.storage('cp', '-r', ':up', ':up/in')).code).toBe(2);
  });

  test('Ctrl-C in the middle of an upload or a download leaves nothing', async () => {
    const own = await newStorageApp(env.tenant.server);
    const to = temporaryFolder();
    const environment = {
      ...process.env,
      SVC_BASE_URL: own.tenant.server.baseUrl,
      SVC_TOKEN: own.owner.token,
      SVC_TENANT: own.tenant.slug,
    };
    const start = (args: string[], stdin: 'pipe' | 'ignore') =>
      Bun.spawn(['./svc', 'apps', 'storage', ...args, '--app', own.app.slug], {
        cwd: join(import.meta.dir, '..'),
        env: environment,
        stdin,
        stdout: 'pipe',
        stderr: 'pipe',
      });
    const uploading = start(['put', '-', 'big', '--execute'], 'pipe');
    uploading.stdin!.write(new Uint8Array(200_000));
    uploading.stdin!.flush();
    const uploads = join(own.tenant.server.dataDir, 'objects', 'uploads');
    await until('the upload has begun', async () => filesOf(uploads).length > 0);
    uploading.kill('SIGINT');
    expect(await uploading.exited).toBe(130);
    await until('nothing is left of it', async () => filesOf(uploads).length === 0);
    expect(await listKeys(own)).toEqual([]);

    await put(await signUpload(own, 'large'), new Uint8Array(64 * 1024 * 1024));
    const downloading = start(['cp', ':large', join(to, 'large')], 'ignore');
    await until('the download has begun', async () => readdirSync(to).length > 0);
    downloading.kill('SIGINT');
    const code = await downloading.exited;
    // The interrupted change may have happened already.
    expect(code === 130 ? readdirSync(to) : ['large']).toEqual(code === 130 ? [] : readdirSync(to));
  });
});

test('large objects stream through the server and svc unchanged', async () => {
  const megabytes = 256;
  const server = await startServer();
  const env = await newStorageApp(server);
  const file = join(temporaryFolder(), 'large.bin');
  const chunk = crypto.getRandomValues(new Uint8Array(65_536));
  const writer = Bun.file(file).writer();
  for (let at = 0; at < megabytes * 16; at++) {
    chunk[0] = at;
    writer.write(chunk);
    if (at % 64 === 0) await writer.flush();
  }
  await writer.end();
  await put(await signUpload(env, 'warm'), new Uint8Array(8 * 1024 * 1024));
  const before = rssOf(server.pid);
  const peak = watchRss(server.pid);
  const up = await env.storage('put', file, 'large.bin', '--execute', '--json');
  expect(up.json()).toMatchObject({ size: megabytes * 1024 * 1024 });
  const copy = `${file}.copy`;
  expect((await env.storage('cp', ':large.bin', copy)).code).toBe(0);
  const sum = (path: string) => Bun.spawnSync(['sha256sum', path]).stdout.toString().split(' ')[0];
  expect(sum(copy)).toBe(sum(file));
  expect(up.json<{ sha256: string }>().sha256).toBe(sum(file)!);
  // Garbage is collected late on a busy machine: what counts is that the object is never whole in memory.
  expect((peak.stop() - before) / 1024).toBeLessThan(160);
  await server.stop();
});

function rssOf(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}

/** Peak resident memory of the process, in KiB. */
function watchRss(pid: number): { stop(): number } {
  let most = 0;
  const timer = setInterval(() => {
    most = Math.max(most, rssOf(pid));
  }, 20);
  return {
    stop: () => {
      clearInterval(timer);
      return most;
    },
  };
}
