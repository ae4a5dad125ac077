import { expect, test } from 'bun:test';
import { noCertificates } from './domain-certificates.ts';
import { openDomainsPlace } from './domains-place.ts';
import { memoryDns } from './testing.ts';

function placeAt(set: { host: string; appsDomain?: string; edgeAddresses?: readonly string[] }) {
  const dns = memoryDns();
  dns.routes.set('edge.apps.platform.example', { addresses: ['198.51.100.7'] });
  const secureOrigin = () => null;
  const options = { appsDomain: 'apps.platform.example', edgeAddresses: null, secureOrigin, ...set };
  const baseUrl = 'http://svc.platform.example';
  const place = openDomainsPlace({ ...options, dns, certificates: noCertificates, baseUrl, caaId: null });
  return { ...place, dns };
}

test('sites are where the operator says, where the server listens, or where their name leads', async () => {
  const told = placeAt({ host: '192.0.2.5', edgeAddresses: ['203.0.113.1', '2001:db8::1'] });
  expect(await told.addresses()).toEqual(['203.0.113.1', '2001:db8::1']);
  expect(await placeAt({ host: '192.0.2.5' }).addresses()).toEqual(['192.0.2.5']);
  for (const host of ['0.0.0.0', '::', 'localhost', '127.0.0.1'])
    expect([host, await placeAt({ host }).addresses()]).toEqual([host, ['198.51.100.7']]);
  // On one's own machine, loopback is where they are.
  const own = placeAt({ host: '127.0.0.1', appsDomain: 'apps.localhost' });
  expect(await own.addresses()).toEqual(['127.0.0.1']);
});

test('where their name leads is asked once in a while, and nothing is made up where nobody answers', async () => {
  const place = placeAt({ host: '0.0.0.0' });
  place.dns.trouble = 'timeout';
  expect(await place.addresses()).toEqual([]);
  expect(await place.addresses()).toEqual([]);
  expect(place.dns.questions).toBe(1);
});
