import { expect, test } from 'bun:test';
import { noCertificates, openDomainsConfig } from './domain-record.ts';
import { memoryDns } from './testing.ts';

function placeAt(set: { host: string; appsDomain?: string; edgeAddresses?: readonly string[] }) {
  const dns = memoryDns();
  dns.routes.set('edge.apps.platform.example', { addresses: ['198.51.100.7'] });
  const secureOrigin = () => null;
  const options = { appsDomain: 'apps.platform.example', edgeAddresses: null, secureOrigin, ...set };
  const baseUrl = 'http://svc.platform.example';
  const config = openDomainsConfig({ ...options, dns, certificates: noCertificates, baseUrl, caaId: null });
  return { ...config, dns };
}

test('addresses come from the configuration, the listen address or DNS', async () => {
  const settings = placeAt({ host: '192.0.2.5', edgeAddresses: ['203.0.113.1', '2001:db8::1'] });
  expect(await settings.addresses()).toEqual(['203.0.113.1', '2001:db8::1']);
  expect(await placeAt({ host: '192.0.2.5' }).addresses()).toEqual(['192.0.2.5']);
  for (const host of ['0.0.0.0', '::', 'localhost', '127.0.0.1'])
    expect([host, await placeAt({ host }).addresses()]).toEqual([host, ['198.51.100.7']]);
  // With an apps domain of localhost, loopback is the public address.
  const own = placeAt({ host: '127.0.0.1', appsDomain: 'apps.localhost' });
  expect(await own.addresses()).toEqual(['127.0.0.1']);
});

test('resolved addresses are cached, and unknown addresses are empty', async () => {
  const config = placeAt({ host: '0.0.0.0' });
  config.dns.trouble = 'timeout';
  expect(await config.addresses()).toEqual([]);
  expect(await config.addresses()).toEqual([]);
  expect(config.dns.questions).toBe(1);
});
