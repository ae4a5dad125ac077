import { afterAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crypto } from 'acme-client';
import { placeholderCertificate } from './drivers/certificates/placeholder-certificate.ts';
import { openHttpsPlace, secureOrigin } from './https-place.ts';
import type { Answering } from './plumbing/serve.ts';
import { webSocketHandler } from './plumbing/web-sockets.ts';
import { silentLog } from './testing.ts';

const folder = mkdtempSync(join(tmpdir(), 'svc-https-'));
afterAll(() => rmSync(folder, { recursive: true }));

const answering: Answering = {
  idleTimeout: 10,
  maxRequestBodySize: 1024,
  development: false,
  fetch: () => new Response('hello'),
  error: () => new Response('error', { status: 500 }),
  websocket: webSocketHandler,
};

test('without a port for it, TLS ends nowhere here', () => {
  expect(openHttpsPlace({ https: null, host: '127.0.0.1' }, silentLog, answering, () => true)).toBeNull();
});

test('the files of the operator are read anew, and what is half written is not used', async () => {
  const files = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') };
  const write = (pair: { cert: string; key: string }) => {
    writeFileSync(files.cert, pair.cert);
    writeFileSync(files.key, pair.key);
  };
  const config = { https: { port: 0, files }, host: '127.0.0.1' };
  const open = () => openHttpsPlace(config, silentLog, answering, () => true);
  expect(open).toThrow('ENOENT');
  const [first, second] = [placeholderCertificate(), placeholderCertificate()];
  write({ cert: first.cert, key: second.key });
  expect(open).toThrow('is not the key of');
  write(first);
  const place = open()!;
  expect(place.readOwn()).toEqual(first);
  writeFileSync(files.cert, second.cert);
  expect(place.readOwn()).toEqual(first);
  write(second);
  expect(place.readOwn()).toEqual(second);
  await place.stop(0);
});

test('which hosts the certificate of the operator is good for is known, and a placeholder is for none', async () => {
  const [key, cert] = await crypto.createAlpnCertificate(
    { identifier: { value: '*.example.com' } } as never,
    'x',
  );
  const files = { cert: join(folder, 'wide.pem'), key: join(folder, 'wide-key.pem') };
  writeFileSync(files.cert, cert);
  writeFileSync(files.key, key);
  const at = (https: { port: number; files: typeof files | null }) =>
    openHttpsPlace({ https, host: '127.0.0.1' }, silentLog, answering, () => true)!;
  const [own, none] = [at({ port: 0, files }), at({ port: 0, files: null })];
  const hosts = ['www.example.com', 'example.com', 'www.example.org'];
  expect(hosts.map(own.covers)).toEqual([true, false, false]);
  expect(hosts.map(none.covers)).toEqual([false, false, false]);
  await Promise.all([own.stop(0), none.stop(0)]);
});

test('hosts with a certificate are reached at the port that is known outside', () => {
  const at = (baseUrl: string, port: number) =>
    secureOrigin({ baseUrl, https: { port, files: null } }, 'www.example.com');
  expect(at('http://svc.example.com:4400', 4443)).toBe('https://www.example.com:4443');
  expect(at('http://svc.example.com', 443)).toBe('https://www.example.com');
  expect(at('https://svc.example.com', 4443)).toBe('https://www.example.com');
  expect(at('https://svc.example.com:8443', 4443)).toBe('https://www.example.com:8443');
});
