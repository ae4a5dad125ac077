import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { patientMs } from '../scripts/patience.ts';
import { type Svc, svcFor } from './support/commands.ts';
import { newApp, newTenant, type Person, type Tenant } from './support/people.ts';
import { hasS3Server, needsS3Server, type S3Storage, startS3 } from './support/s3.ts';
import { type RunningServer, sharedServer, startServer, temporaryFolder } from './support/server.ts';
import { until } from './support/until.ts';

interface Place {
  tenant: Tenant;
  owner: Person;
  app: { id: string; slug: string };
  svc: Svc;
  /** `svc apps storage … --app …` as the owner. */
  storage: (...args: string[]) => ReturnType<Svc>;
  base: string;
}

async function newPlace(on?: RunningServer): Promise<Place> {
  const tenant = await newTenant(on);
  const owner = tenant.member;
  const app = await newApp(tenant, { owner, coOwner: tenant.admin });
  const svc = svcFor(tenant.server, { token: owner.token, tenant: tenant.slug });
  const storage = (...args: string[]) => svc(['apps', 'storage', ...args, '--app', app.slug]);
  expect((await storage('enable', '--execute')).code).toBe(0);
  return { tenant, owner, app, svc, storage, base: `${tenant.base}/apps/${app.id}/storage` };
}

async function signUpload({ owner, base }: Place, key: string): Promise<string> {
  const { status, body } = await owner.call('POST', `${base}/upload-url`, { key });
  expect([status, typeof body.put_url]).toEqual([200, 'string']);
  return body.put_url;
}

const octets = { 'content-type': 'application/octet-stream' };
const put = (url: string, body: BodyInit) => fetch(url, { method: 'PUT', headers: octets, body });
const keysOf = async ({ owner, base }: Place) =>
  (await owner.call('GET', `${base}/objects`)).body.items.map(({ key }: { key: string }) => key) as string[];
const filesOf = (folder: string) =>
  existsSync(folder)
    ? readdirSync(folder, { recursive: true, withFileTypes: true }).filter((it) => it.isFile())
    : [];

describe('svc apps storage', () => {
  let place: Place;
  let folder: string;
  beforeAll(async () => {
    place = await newPlace(await sharedServer());
    folder = temporaryFolder();
    writeFileSync(join(folder, 'rex.txt'), 'Rex is a dog.');
  });

  test('cp of a folder skips links and reports them; a download needs no preview', async () => {
    const source = temporaryFolder();
    writeFileSync(join(source, 'a.txt'), 'a');
    symlinkSync('/etc/passwd', join(source, 'link'));
    const prefix = `links-${Bun.randomUUIDv7()}`;
    const ran = await place.storage('cp', '-r', source, `:${prefix}`, '--execute');
    expect([ran.code, ran.stderr]).toEqual([0, `${join(source, 'link')} is a link and is skipped.\n`]);
    const listed = await place.storage('ls', '--prefix', `${prefix}/`, '--json');
    expect(listed.json<{ items: { key: string }[] }>().items.map(({ key }) => key)).toEqual([
      `${prefix}/a.txt`,
    ]);
    const target = join(source, 'a.txt');
    writeFileSync(target, 'keep');
    expect((await place.storage('cp', `:${prefix}/a.txt`, target, '--dry-run')).code).toBe(2);
    expect(readFileSync(target, 'utf8')).toBe('keep');
  });

  test('status shows whether storage is enabled, and enabling again changes nothing', async () => {
    const app = await newApp(place.tenant, { owner: place.owner, coOwner: place.owner });
    const run = (...args: string[]) => place.svc(['apps', 'storage', ...args, '--app', app.slug, '--json']);
    expect((await run('status')).json()).toMatchObject({ enabled: false, objects: 0, bytes: 0 });
    const ls = await run('ls');
    expect([ls.code, JSON.parse(ls.stderr).code]).toEqual([6, 'storage_not_enabled']);
    expect((await run('enable')).json()).toMatchObject({ dry_run: true });
    expect((await run('enable', '--execute')).json()).toMatchObject({ enabled: true });
    expect((await run('enable', '--execute')).json()).toMatchObject({ enabled: true, changed: false });
    expect((await run('status')).json()).toMatchObject({ enabled: true });
  });

  test('an app may be created with storage', async () => {
    const made = await place.owner.call('POST', `${place.tenant.base}/apps`, {
      name: `with-${Bun.randomUUIDv7().slice(-12)}`,
      storage: { enabled: true },
    });
    expect(made.status).toBe(201);
    const { body } = await place.owner.call('GET', `${place.tenant.base}/apps/${made.body.id}/storage`);
    expect(body.enabled).toBe(true);
  });

  test('put previews and uploads an object unchanged', async () => {
    const file = join(folder, 'rex.txt');
    const preview = await place.storage('put', file, 'pets/', '--json');
    expect(preview.json()).toMatchObject({
      plan: { operation: 'storage.signUpload', target: { name: 'pets/rex.txt' } },
    });
    expect(await keysOf(place)).not.toContain('pets/rex.txt');
    const { plan } = preview.json<{ plan: { fingerprint: string } }>();
    const done = await place.storage('put', file, 'pets/', '--execute', '--plan', plan.fingerprint, '--json');
    expect(done.json()).toMatchObject({ key: 'pets/rex.txt', size: 13, content_type: 'text/plain' });
    // The preview showed a new object.
    const stale = await place.storage(
      'put',
      file,
      'pets/',
      '--execute',
      '--plan',
      plan.fingerprint,
      '--json',
    );
    expect(stale.code).toBe(15);
    const { url } = (await place.storage('get-url', 'pets/rex.txt', '--json')).json<{ url: string }>();
    expect(url.startsWith(`${place.tenant.server.baseUrl}/objects/`)).toBe(true);
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
      place.svc(['apps', 'storage', 'put', '-', ...args, '--app', place.app.slug, '--execute', '--json'], {
        stdin: 'piped',
      });
    expect((await piped(['in.json'])).json()).toMatchObject({
      key: 'in.json',
      size: 5,
      content_type: 'application/json',
    });
    expect((await piped([])).code).toBe(2);
    const missing = await place.storage('put', join(folder, 'none'), 'x', '--execute', '--json');
    expect([missing.code, JSON.parse(missing.stderr).code]).toEqual([2, 'file_unreadable']);
  });

  test('ls shows one level of folders, pages, and all pages', async () => {
    const own = await newPlace(place.tenant.server);
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
    await put(await signUpload(place, 'gone'), 'x');
    const preview = await place.storage('rm', 'gone', '--json');
    expect(preview.json()).toMatchObject({ plan: { irreversible: true } });
    expect(await keysOf(place)).toContain('gone');
    expect((await place.storage('rm', 'gone', '--execute', '--json')).json()).toEqual({
      deleted: true,
      key: 'gone',
    });
    expect(await keysOf(place)).not.toContain('gone');
    expect((await place.storage('rm', 'gone', '--execute')).code).toBe(5);
  });

  test('cp downloads, copies within the storage, prints, and distinguishes keys from paths', async () => {
    await put(await signUpload(place, 'from/a.bin'), new Uint8Array([0, 255, 10, 13]));
    const to = temporaryFolder();
    expect((await place.storage('cp', ':from/a.bin', to, '--json')).json()).toMatchObject({
      file: join(to, 'a.bin'),
      bytes: 4,
    });
    expect([...readFileSync(join(to, 'a.bin'))]).toEqual([0, 255, 10, 13]);
    expect((await place.storage('cp', ':from/a.bin', ':to/', '--json')).json()).toMatchObject({
      dry_run: true,
    });
    expect((await place.storage('cp', ':from/a.bin', ':to/', '--execute', '--json')).json()).toMatchObject({
      key: 'to/a.bin',
    });
    await place.storage('cp', join(folder, 'rex.txt'), ':shown.txt', '--execute');
    expect((await place.storage('cp', ':shown.txt', '-')).stdout).toBe('Rex is a dog.');
    expect((await place.storage('cp', 'a', 'b')).code).toBe(2);
    const missing = await place.storage('cp', ':none', join(to, 'none'), '--json');
    expect([missing.code, readdirSync(to)]).toEqual([5, ['a.bin']]);
  });

  test('cp --recursive uploads, copies and downloads a whole folder', async () => {
    const own = await newPlace(place.tenant.server);
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
    expect(await keysOf(own)).toEqual([]);
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
    const own = await newPlace(place.tenant.server);
    const to = temporaryFolder();
    const env = {
      ...process.env,
      SVC_BASE_URL: own.tenant.server.baseUrl,
      SVC_TOKEN: own.owner.token,
      SVC_TENANT: own.tenant.slug,
    };
    const start = (args: string[], stdin: 'pipe' | 'ignore') =>
      Bun.spawn(['./svc', 'apps', 'storage', ...args, '--app', own.app.slug], {
        cwd: join(import.meta.dir, '..'),
        env,
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
    expect(await keysOf(own)).toEqual([]);

    await put(await signUpload(own, 'large'), new Uint8Array(64 * 1024 * 1024));
    const downloading = start(['cp', ':large', join(to, 'large')], 'ignore');
    await until('the download has begun', async () => readdirSync(to).length > 0);
    downloading.kill('SIGINT');
    const code = await downloading.exited;
    // The interrupted change may have happened already.
    expect(code === 130 ? readdirSync(to) : ['large']).toEqual(code === 130 ? [] : readdirSync(to));
  });
});

describe('signed URLs', () => {
  let place: Place;
  beforeAll(async () => {
    place = await newPlace(await sharedServer());
  });

  test('of a removed co-owner are refused within a second', async () => {
    const { tenant, owner, app } = place;
    const coOwner = tenant.admin;
    await put(await signUpload(place, 'shared'), 'text');
    const { body } = await coOwner.call('GET', `${place.base}/url?key=shared`);
    expect((await fetch(body.url)).status).toBe(200);
    const write = (await coOwner.call('POST', `${place.base}/upload-url`, { key: 'theirs' })).body.put_url;
    const removed = await owner.call('DELETE', `${tenant.base}/apps/${app.id}/co-owners/${coOwner.id}`);
    expect(removed.status).toBe(204);
    const begun = performance.now();
    await until('the address is refused', async () => (await fetch(body.url)).status === 403);
    expect(performance.now() - begun).toBeLessThan(patientMs(1_000));
    expect((await put(write, 'x')).status).toBe(403);
    expect(await keysOf(place)).not.toContain('theirs');
  });

  test('are not logged, and are valid for one object only', async () => {
    const url = await signUpload(place, 'secret');
    await put(url, 'x');
    const token = new URL(url).pathname.split('/')[2]!;
    const { server } = place.tenant;
    await until('the request is logged', async () => server.output().includes('"route":"objects"'));
    expect(server.output()).not.toContain(token);
    expect((await fetch(`${server.baseUrl}/objects/${token}/x`)).status).toBe(403);
    expect((await fetch(`${server.baseUrl}/objects/`)).status).toBe(403);
    expect((await fetch(url, { method: 'DELETE' })).status).toBe(405);
  });

  test('may be used by pages of any origin', async () => {
    const url = await signUpload(place, 'cors');
    const headers = { origin: 'https://app.example', 'access-control-request-method': 'PUT' };
    const preflight = await fetch(url, { method: 'OPTIONS', headers });
    expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).toEqual([204, '*']);
    expect((await put(url, 'x')).headers.get('access-control-allow-origin')).toBe('*');
  });
});

describe('large objects', () => {
  const megabytes = 160;

  test('stream through the server and svc unchanged', async () => {
    const server = await startServer();
    const place = await newPlace(server);
    const file = join(temporaryFolder(), 'large.bin');
    const chunk = crypto.getRandomValues(new Uint8Array(65_536));
    const writer = Bun.file(file).writer();
    for (let at = 0; at < megabytes * 16; at++) {
      chunk[0] = at;
      writer.write(chunk);
      if (at % 64 === 0) await writer.flush();
    }
    await writer.end();
    await put(await signUpload(place, 'warm'), new Uint8Array(8 * 1024 * 1024));
    const before = rssOf(server.pid);
    const peak = watchRss(server.pid);
    const up = await place.storage('put', file, 'large.bin', '--execute', '--json');
    expect(up.json()).toMatchObject({ size: megabytes * 1024 * 1024 });
    const copy = `${file}.copy`;
    expect((await place.storage('cp', ':large.bin', copy)).code).toBe(0);
    const sum = (path: string) => Bun.spawnSync(['sha256sum', path]).stdout.toString().split(' ')[0];
    expect(sum(copy)).toBe(sum(file));
    expect(up.json<{ sha256: string }>().sha256).toBe(sum(file)!);
    expect((peak.stop() - before) / 1024).toBeLessThan(megabytes / 2);
    await server.stop();
  });

  test('above the limit are refused before the upload', async () => {
    const place = await newPlace(await sharedServer());
    const { owner, base } = place;
    const tooLarge = await owner.call('POST', `${base}/upload-url`, { key: 'k', size: 6 * 1024 ** 3 });
    expect([tooLarge.status, tooLarge.body.code]).toEqual([400, 'validation_failed']);
    const url = new URL(await signUpload(place, 'k'));
    const { promise, resolve } = Promise.withResolvers<string>();
    let text = '';
    const socket = await Bun.connect({
      hostname: '127.0.0.1',
      port: Number(url.port),
      socket: {
        data: (_, data) => {
          text += data.toString();
          if (text.includes('payload_too_large')) resolve(text);
        },
        close: () => resolve(text),
      },
    });
    const head = [
      `PUT ${url.pathname} HTTP/1.1`,
      `Host: ${url.host}`,
      'Content-Type: application/octet-stream',
    ];
    socket.write([...head, `Content-Length: ${6 * 1024 ** 3}`, '', ''].join('\r\n'));
    expect(await promise).toContain(' 413 ');
    expect(text).toContain('payload_too_large');
    socket.end();
  });
});

if (needsS3Server) test('a store that speaks S3 is on this machine', () => expect(hasS3Server).toBe(true));

describe.if(hasS3Server)('over S3', () => {
  let s3: S3Storage;
  beforeAll(async () => {
    s3 = await startS3();
  });
  afterAll(() => s3?.stop());

  test('objects are the same, with URLs of the server', async () => {
    const server = await startServer({ env: await s3.env() });
    const place = await newPlace(server);
    const file = join(temporaryFolder(), 'rex.txt');
    writeFileSync(file, 'Rex '.repeat(500_000));
    expect((await place.storage('put', file, 'pets/rex.txt', '--execute')).code).toBe(0);
    expect(await keysOf(place)).toEqual(['pets/rex.txt']);
    const { url } = (await place.storage('get-url', 'pets/rex.txt', '--json')).json<{ url: string }>();
    expect(url.startsWith(`${server.baseUrl}/objects/`)).toBe(true);
    const part = await fetch(url, { headers: { range: 'bytes=4-7' } });
    expect([part.status, await part.text()]).toEqual([206, 'Rex ']);
    expect((await place.storage('cp', ':pets/rex.txt', `${file}.back`)).code).toBe(0);
    expect(readFileSync(`${file}.back`, 'utf8')).toBe(readFileSync(file, 'utf8'));
    expect((await place.storage('cp', ':pets/rex.txt', ':copy.txt', '--execute')).code).toBe(0);
    expect((await place.storage('rm', 'pets/rex.txt', '--execute')).code).toBe(0);
    expect(await keysOf(place)).toEqual(['copy.txt']);
    expect(filesOf(join(server.dataDir, 'objects'))).toEqual([]);
    await server.stop();
  });
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
