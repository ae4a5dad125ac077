import { beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { patientMs } from '../scripts/patience.ts';
import { useFixture } from '../scripts/use-fixture.ts';
import { hasS3Server, startS3 } from './support/s3.ts';
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

describe.if(hasS3Server)('over S3', () => {
  const s3 = useFixture(startS3, (it) => it.stop());

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
