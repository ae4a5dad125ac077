import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { patientMs } from '../scripts/patience.ts';
import { hasS3Server, needsS3Server, type S3Storage, startS3 } from './support/s3.ts';
import { sharedServer, startServer, temporaryFolder } from './support/server.ts';
import { filesOf, listKeys, newStorageApp, put, type StorageApp, signUpload } from './support/storage.ts';
import { until } from './support/until.ts';

describe('signed URLs', () => {
  let env: StorageApp;
  beforeAll(async () => {
    env = await newStorageApp(await sharedServer());
  });

  test('of a removed co-owner are refused within a second', async () => {
    const { tenant, owner, app } = env;
    const coOwner = tenant.admin;
    await put(await signUpload(env, 'shared'), 'text');
    const { body } = await coOwner.call('GET', `${env.base}/url?key=shared`);
    expect((await fetch(body.url)).status).toBe(200);
    const write = (await coOwner.call('POST', `${env.base}/upload-url`, { key: 'theirs' })).body.put_url;
    const removed = await owner.call('DELETE', `${tenant.base}/apps/${app.id}/co-owners/${coOwner.id}`);
    expect(removed.status).toBe(204);
    const begun = performance.now();
    await until('the address is refused', async () => (await fetch(body.url)).status === 403);
    expect(performance.now() - begun).toBeLessThan(patientMs(1_000));
    expect((await put(write, 'x')).status).toBe(403);
    expect(await listKeys(env)).not.toContain('theirs');
  });

  test('are not logged, and are valid for one object only', async () => {
    const url = await signUpload(env, 'secret');
    await put(url, 'x');
    const token = new URL(url).pathname.split('/')[2]!;
    const { server } = env.tenant;
    await until('the request is logged', async () => server.output().includes('"route":"objects"'));
    expect(server.output()).not.toContain(token);
    expect((await fetch(`${server.baseUrl}/objects/${token}/x`)).status).toBe(403);
    expect((await fetch(`${server.baseUrl}/objects/`)).status).toBe(403);
    expect((await fetch(url, { method: 'DELETE' })).status).toBe(405);
  });

  test('may be used by pages of any origin', async () => {
    const url = await signUpload(env, 'cors');
    const headers = { origin: 'https://app.example', 'access-control-request-method': 'PUT' };
    const preflight = await fetch(url, { method: 'OPTIONS', headers });
    expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).toEqual([204, '*']);
    expect((await put(url, 'x')).headers.get('access-control-allow-origin')).toBe('*');
  });
});

describe('large objects', () => {
  const megabytes = 256;

  test('stream through the server and svc unchanged', async () => {
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

  test('above the limit are refused before the upload', async () => {
    const env = await newStorageApp(await sharedServer());
    const { owner, base } = env;
    const tooLarge = await owner.call('POST', `${base}/upload-url`, { key: 'k', size: 6 * 1024 ** 3 });
    expect([tooLarge.status, tooLarge.body.code]).toEqual([400, 'validation_failed']);
    const url = new URL(await signUpload(env, 'k'));
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
    const env = await newStorageApp(server);
    const file = join(temporaryFolder(), 'rex.txt');
    writeFileSync(file, 'Rex '.repeat(500_000));
    expect((await env.storage('put', file, 'pets/rex.txt', '--execute')).code).toBe(0);
    expect(await listKeys(env)).toEqual(['pets/rex.txt']);
    const { url } = (await env.storage('get-url', 'pets/rex.txt', '--json')).json<{ url: string }>();
    expect(url.startsWith(`${server.baseUrl}/objects/`)).toBe(true);
    const part = await fetch(url, { headers: { range: 'bytes=4-7' } });
    expect([part.status, await part.text()]).toEqual([206, 'Rex ']);
    expect((await env.storage('cp', ':pets/rex.txt', `${file}.back`)).code).toBe(0);
    expect(readFileSync(`${file}.back`, 'utf8')).toBe(readFileSync(file, 'utf8'));
    expect((await env.storage('cp', ':pets/rex.txt', ':copy.txt', '--execute')).code).toBe(0);
    expect((await env.storage('rm', 'pets/rex.txt', '--execute')).code).toBe(0);
    expect(await listKeys(env)).toEqual(['copy.txt']);
    const kept = filesOf(join(server.dataDir, 'objects')).map(({ name }) => name);
    expect(kept.filter((name) => name !== 'svc-folder-id')).toEqual([]);
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
