import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { clientAddress, parseTrustedProxies, type TrustedProxies } from './client-address.ts';
import { createLog } from './log.ts';
import { createMetrics } from './metrics.ts';
import { serve } from './serve.ts';

const none = parseTrustedProxies('');
const some = parseTrustedProxies('loopback, 10.0.0.0/8,2001:db8::/32');

test('without trusted proxies nothing that a client says of itself counts', () => {
  expect(clientAddress('192.0.2.1', '127.0.0.1', none)).toBe('192.0.2.1');
  expect(clientAddress('127.0.0.1', '192.0.2.1', none)).toBe('127.0.0.1');
  expect(clientAddress('', '192.0.2.1', none)).toBe('');
});

test('behind trusted proxies it is the last address that none of them has', () => {
  expect(clientAddress('127.0.0.1', '192.0.2.1', some)).toBe('192.0.2.1');
  expect(clientAddress('::1', '198.51.100.9, 192.0.2.1 ,10.1.2.3', some)).toBe('192.0.2.1');
  expect(clientAddress('10.0.0.1', '2001:DB8::7, 10.9.9.9', some)).toBe('2001:db8::7');
  expect(clientAddress('192.0.2.1', '198.51.100.9', some)).toBe('192.0.2.1');
  expect(clientAddress('127.0.0.1', null, some)).toBe('127.0.0.1');
});

test('what is no address ends the walk at the one who wrote it', () => {
  for (const odd of ['unknown', '', '1.2.3.4:80', '[::1]:80', 'fe80::1%eth0', '1.2.3', '_hidden']) {
    expect(clientAddress('127.0.0.1', `192.0.2.1, ${odd}, 10.0.0.2`, some)).toBe('10.0.0.2');
  }
});

test('IPv4 that arrives over IPv6 is IPv4', () => {
  expect(clientAddress('::ffff:127.0.0.1', '::FFFF:c000:0201', some)).toBe('192.0.2.1');
  expect(clientAddress('::ffff:192.0.2.1', null, none)).toBe('192.0.2.1');
  expect(parseTrustedProxies('::ffff:10.0.0.0/104').includes('10.255.0.1')).toBe(true);
  expect(parseTrustedProxies('::ffff:10.0.0.0/104').includes('11.0.0.1')).toBe(false);
});

test('what is neither an address nor a network is refused', () => {
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

test('a network has exactly the addresses that share its first bits', () => {
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

test('whatever a client sends, it does not choose its address', () => {
  const client = '192.0.2.1';
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.string(), fc.ipV4(), fc.ipV6())), (made) => {
      expect(clientAddress('127.0.0.1', [...made, client, '10.1.1.1'].join(','), some)).toBe(client);
      expect(clientAddress(client, made.join(','), some)).toBe(client);
    }),
  );
});

test('no text is read as more than a list of addresses and networks', () => {
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

test('a server behind a trusted proxy tells its handler who asks, not who passed it on', async () => {
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
