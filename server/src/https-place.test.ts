import { afterAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { placeholderCertificate } from './drivers/certificates/placeholder-certificate.ts';
import { domainsBaseUrl, openHttpsPlace, secureOrigin } from './https-place.ts';
import type { Answering } from './plumbing/serve.ts';
import { silentLog } from './testing.ts';

const folder = mkdtempSync(join(tmpdir(), 'svc-https-'));
afterAll(() => rmSync(folder, { recursive: true }));

const answering: Answering = {
  idleTimeout: 10,
  maxRequestBodySize: 1024,
  development: false,
  fetch: () => new Response('hello'),
  error: () => new Response('error', { status: 500 }),
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

test('custom domains are reached by HTTPS where TLS ends here, at the port that is known outside', () => {
  const https = { port: 4443, files: null };
  const at = (baseUrl: string, on: typeof https | null) => {
    const config = { baseUrl, https: on };
    return [domainsBaseUrl(config), secureOrigin(config, 'www.example.com')];
  };
  expect(at('http://svc.example.com:4400', https)).toEqual([
    'https://svc.example.com:4443',
    'https://www.example.com:4443',
  ]);
  expect(at('http://svc.example.com', { port: 443, files: null })).toEqual([
    'https://svc.example.com',
    'https://www.example.com',
  ]);
  expect(at('https://svc.example.com', https)).toEqual([
    'https://svc.example.com',
    'https://www.example.com',
  ]);
  expect(at('http://svc.example.com:4400', null)[0]).toBe('http://svc.example.com:4400');
});
