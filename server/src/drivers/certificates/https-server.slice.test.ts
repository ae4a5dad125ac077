import { expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { crypto } from 'acme-client';
import { useFolder } from '../../../../scripts/use-fixture.ts';
import { silentLog } from '../testing.ts';
import { openHttpsServer, placeholderCertificate, secureOrigin } from './https-server.ts';

const folder = useFolder();

const listener = {
  host: '127.0.0.1',
  trustedProxies: { includes: () => false },
  passThroughClients: null,
  log: silentLog,
};

test('without a port there is no HTTPS server', () => {
  expect(openHttpsServer(null, listener, () => true)).toBeNull();
});

test('certificate files are read again, and half-written ones ignored', async () => {
  const files = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') };
  const write = (pair: { cert: string; key: string }) => {
    writeFileSync(files.cert, pair.cert);
    writeFileSync(files.key, pair.key);
  };
  const open = () => openHttpsServer({ port: 0, files }, listener, () => true);
  expect(open).toThrow('ENOENT');
  const [first, second] = [placeholderCertificate(), placeholderCertificate()];
  write({ cert: first.cert, key: second.key });
  expect(open).toThrow('is not the key of');
  write(first);
  const server = open()!;
  expect(server.readOwn()).toEqual(first);
  writeFileSync(files.cert, second.cert);
  expect(server.readOwn()).toEqual(first);
  write(second);
  expect(server.readOwn()).toEqual(second);
  await server.stop(0);
});

test('covers lists the hosts of the certificate; a placeholder covers none', async () => {
  const [key, cert] = await crypto.createAlpnCertificate(
    { identifier: { value: '*.example.com' } } as never,
    'x',
  );
  const files = { cert: join(folder, 'wide.pem'), key: join(folder, 'wide-key.pem') };
  writeFileSync(files.cert, cert);
  writeFileSync(files.key, key);
  const at = (https: { port: number; files: typeof files | null }) =>
    openHttpsServer(https, listener, () => true)!;
  const [own, none] = [at({ port: 0, files }), at({ port: 0, files: null })];
  const hosts = ['www.example.com', 'example.com', 'www.example.org'];
  expect(hosts.map(own.covers)).toEqual([true, false, false]);
  expect(hosts.map(none.covers)).toEqual([false, false, false]);
  await Promise.all([own.stop(0), none.stop(0)]);
});

test('secureOrigin has the public port', () => {
  const at = (baseUrl: string, port: number) =>
    secureOrigin({ baseUrl, https: { port, files: null } }, 'www.example.com');
  expect(at('http://svc.example.com:4400', 4443)).toBe('https://www.example.com:4443');
  expect(at('http://svc.example.com', 443)).toBe('https://www.example.com');
  expect(at('https://svc.example.com', 4443)).toBe('https://www.example.com');
  expect(at('https://svc.example.com:8443', 4443)).toBe('https://www.example.com:8443');
});
