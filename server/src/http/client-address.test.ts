import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { createLog } from '../core/log.ts';
import { createMetrics } from '../core/metrics.ts';
import {
  addressGroup,
  parseTrustedProxies,
  resolveClientAddress,
  type TrustedProxies,
} from './client-address.ts';
import { serve } from './serve.ts';

const none = parseTrustedProxies('');
const some = parseTrustedProxies('loopback, 10.0.0.0/8,2001:db8::/32');

test('without trusted proxies, X-Forwarded-For is ignored', () => {
  expect(resolveClientAddress('192.0.2.1', '127.0.0.1', none)).toBe('192.0.2.1');
  expect(resolveClientAddress('127.0.0.1', '192.0.2.1', none)).toBe('127.0.0.1');
  expect(resolveClientAddress('', '192.0.2.1', none)).toBe('');
});

test('behind trusted proxies, the client is the last untrusted address', () => {
  expect(resolveClientAddress('127.0.0.1', '192.0.2.1', some)).toBe('192.0.2.1');
  expect(resolveClientAddress('::1', '198.51.100.9, 192.0.2.1 ,10.1.2.3', some)).toBe('192.0.2.1');
  expect(resolveClientAddress('10.0.0.1', '2001:DB8::7, 10.9.9.9', some)).toBe('2001:db8::7');
  expect(resolveClientAddress('192.0.2.1', '198.51.100.9', some)).toBe('192.0.2.1');
  expect(resolveClientAddress('127.0.0.1', null, some)).toBe('127.0.0.1');
});

test('a malformed entry ends the search at the proxy that wrote it', () => {
  for (const odd of ['unknown', '', '1.2.3.4:80', '[::1]:80', 'fe80::1%eth0', '1.2.3', '_hidden']) {
    expect(resolveClientAddress('127.0.0.1', `192.0.2.1, ${odd}, 10.0.0.2`, some)).toBe('10.0.0.2');
  }
});

test('IPv4-mapped IPv6 is IPv4', () => {
  expect(resolveClientAddress('::ffff:127.0.0.1', '::FFFF:c000:0201', some)).toBe('192.0.2.1');
  expect(resolveClientAddress('::ffff:192.0.2.1', null, none)).toBe('192.0.2.1');
  expect(parseTrustedProxies('::ffff:10.0.0.0/104').includes('10.255.0.1')).toBe(true);
  expect(parseTrustedProxies('::ffff:10.0.0.0/104').includes('11.0.0.1')).toBe(false);
});

test('text that is neither an IP address nor a network is refused', () => {
  for (const text of [
    'localhost',
    '10.0.0.0/33',
    '10.0.0.0/',
    '10.0.0/8',
    '::1/129',
    '10.0.0.0/-1',
    '::ffff:1.2.3.4/8',
    '*',
  ]) {
    expect(() => parseTrustedProxies(text)).toThrow(RangeError);
  }
});

test('a network contains exactly the addresses with its prefix', () => {
  const word = fc.integer({ min: 0, max: 0xffff_ffff });
  const dotted = (value: number) => [24, 16, 8, 0].map((shift) => (value >>> shift) & 0xff).join('.');
  fc.assert(
    fc.property(word, word, fc.integer({ min: 0, max: 32 }), (network, address, prefix) => {
      const mask = prefix === 0 ? 0 : (-1 << (32 - prefix)) >>> 0;
      const near = ((network & mask) | (address & ~mask)) >>> 0;
      const trusted = parseTrustedProxies(`${dotted(network)}/${prefix}`);
      expect(trusted.includes(dotted(near))).toBe(true);
      expect(trusted.includes(dotted(address))).toBe((network & mask) === (address & mask));
      expect(trusted.includes(`::ffff:${dotted(near)}`)).toBe(true);
    }),
  );
});

test('a client cannot choose its own address', () => {
  const client = '192.0.2.1';
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.string(), fc.ipV4(), fc.ipV6())), (made) => {
      expect(resolveClientAddress('127.0.0.1', [...made, client, '10.1.1.1'].join(','), some)).toBe(client);
      expect(resolveClientAddress(client, made.join(','), some)).toBe(client);
    }),
  );
});

test('arbitrary text parses as a list of addresses and networks or is refused', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      try {
        expect(parseTrustedProxies(text).includes('192.0.2.1')).toBe(false);
      } catch (error) {
        expect(error).toBeInstanceOf(RangeError);
      }
    }),
  );
});

test('a handler behind a trusted proxy sees the address of the client', async () => {
  const handle = async (_request: Request, _url: URL, info: { clientAddress: string }) =>
    new Response(info.clientAddress);
  const log = createLog({ level: 'silent', write: () => {} });
  const askedAs = async (trustedProxies: TrustedProxies) => {
    const serving = serve({
      host: '127.0.0.1',
      port: 0,
      trustedProxies,
      handle,
      log,
      metrics: createMetrics(),
    });
    const headers = { 'x-forwarded-for': '198.51.100.9, 192.0.2.1' };
    const answer = await fetch(`http://127.0.0.1:${serving.port}/`, { headers });
    const text = await answer.text();
    await serving.stop(0);
    return text;
  };
  expect([await askedAs(some), await askedAs(none)]).toEqual(['192.0.2.1', '127.0.0.1']);
});

test('addresses of one IPv6 network count as one', () => {
  expect(addressGroup('2001:db8:1:2:3:4:5:6')).toBe('2001:db8:1:2::/64');
  expect(addressGroup('2001:0db8:1:2::9')).toBe('2001:db8:1:2::/64');
  expect(addressGroup('2001:db8::1')).toBe('2001:db8:0:0::/64');
  expect(addressGroup('::1')).toBe('0:0:0:0::/64');
  expect(addressGroup('fe80::1%eth0')).toBe('fe80:0:0:0::/64');
  expect(addressGroup('::ffff:192.0.2.1')).toBe('192.0.2.1');
  expect(addressGroup('192.0.2.1')).toBe('192.0.2.1');
});
