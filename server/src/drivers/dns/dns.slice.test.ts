import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { AUTHORITATIVE_ANSWER, decode, encode } from 'dns-packet';
import { type DnsServer, hasDnsServer, startDnsServer } from '../../../../scripts/dns-server.ts';
import { useFolder } from '../../../../scripts/use-fixture.ts';
import { type Dns, parseDnsServers } from './dns.ts';
import { isPublicAddress, openDns } from './open-dns.ts';

const never = () => false;
const newZone = () => `z${Bun.randomUUIDv7().replaceAll('-', '').slice(-16)}.test`;

describe.if(hasDnsServer)('DNS, by a real name server,', () => {
  const folder = useFolder();
  let server: DnsServer;
  let dns: Dns;
  beforeAll(async () => {
    server = await startDnsServer(folder);
    dns = openDns({ servers: parseDnsServers(server.address), port: server.port });
  });
  afterAll(() => server?.stop());

  test('TXT records of any length and number are complete', async () => {
    const zone = newZone();
    const long = 'x'.repeat(700);
    const many = Array.from({ length: 30 }, (_, at) => `value ${at} ${'y'.repeat(100)}`);
    await server.setZone(zone, [
      { name: `a.${zone}`, type: 'TXT', value: long },
      { name: `a.${zone}`, type: 'TXT', value: 'say "hi" \\ there' },
      ...many.map((value) => ({ name: `b.${zone}`, type: 'TXT' as const, value })),
    ]);
    const one = await dns.startLookup().txt(`a.${zone}`);
    expect(one).toMatchObject({ kind: 'found' });
    expect(one.kind === 'found' && [...one.values].sort()).toEqual(['say "hi" \\ there', long]);
    // More than a datagram holds, so this uses TCP.
    const all = await dns.startLookup().txt(`b.${zone}`);
    expect(all.kind === 'found' && [...all.values].sort()).toEqual([...many].sort());
  });

  test('a missing name and a missing record are distinguished', async () => {
    const zone = newZone();
    await server.setZone(zone, [{ name: `a.${zone}`, type: 'A', value: '192.0.2.1' }]);
    expect(await dns.startLookup().txt(`none.${zone}`)).toEqual({ kind: 'none', reason: 'no_name' });
    expect(await dns.startLookup().txt(`a.${zone}`)).toEqual({ kind: 'none', reason: 'no_records' });
    expect((await dns.startLookup().route(`none.${zone}`, never)).addresses).toEqual({
      kind: 'none',
      reason: 'no_name',
    });
  });

  test('names below .invalid are not queried', async () => {
    const deaf = openDns({ servers: parseDnsServers('127.0.0.1:1'), port: 1 });
    expect(await deaf.startLookup().txt('www.example.invalid')).toEqual({ kind: 'none', reason: 'no_name' });
  });

  test('CNAMEs are followed across zones, and IPv4 and IPv6 addresses found', async () => {
    const [one, other] = [newZone(), newZone()];
    await server.setZone(one, [
      { name: `www.${one}`, type: 'CNAME', value: `web.${one}` },
      { name: `web.${one}`, type: 'CNAME', value: `host.${other}` },
    ]);
    await server.setZone(other, [
      { name: `host.${other}`, type: 'A', value: '192.0.2.1' },
      { name: `host.${other}`, type: 'A', value: '192.0.2.2' },
      { name: `host.${other}`, type: 'AAAA', value: '2001:db8::1' },
    ]);
    const { aliases, addresses } = await dns.startLookup().route(`www.${one}`, never);
    expect(aliases).toEqual([`web.${one}`, `host.${other}`]);
    expect(addresses.kind === 'found' && [...addresses.values].sort()).toEqual([
      '192.0.2.1',
      '192.0.2.2',
      '2001:db8::1',
    ]);
    const ended = await dns.startLookup().route(`www.${one}`, (alias) => alias === `web.${one}`);
    expect(ended).toEqual({ aliases: [`web.${one}`], addresses: { kind: 'found', values: [] } });
  });

  test('a CNAME at a TXT name is not followed', async () => {
    const zone = newZone();
    await server.setZone(zone, [
      { name: `*.${zone}`, type: 'CNAME', value: `other.${zone}` },
      { name: `other.${zone}`, type: 'TXT', value: 'proof' },
    ]);
    expect(await dns.startLookup().txt(`challenge.${zone}`)).toEqual({ kind: 'none', reason: 'no_records' });
  });

  test('a CNAME loop has no addresses', async () => {
    const zone = newZone();
    await server.setZone(zone, [
      { name: `a.${zone}`, type: 'CNAME', value: `b.${zone}` },
      { name: `b.${zone}`, type: 'CNAME', value: `a.${zone}` },
    ]);
    expect((await dns.startLookup().route(`a.${zone}`, never)).addresses.kind).toBe('none');
  });

  test('a delegated zone is queried at its own name servers', async () => {
    const zone = newZone();
    await server.setZone(zone, [
      { name: `sub.${zone}`, type: 'NS', value: `ns.sub.${zone}` },
      { name: `ns.sub.${zone}`, type: 'A', value: server.host },
    ]);
    await server.setZone(`sub.${zone}`, [{ name: `www.sub.${zone}`, type: 'TXT', value: 'deep' }]);
    expect(await dns.startLookup().txt(`www.sub.${zone}`)).toEqual({ kind: 'found', values: ['deep'] });
  });

  test('CAA records come from the nearest name that has some', async () => {
    const zone = newZone();
    await server.setZone(zone, [
      { name: zone, type: 'CAA', value: '0 issue "ca.example"' },
      { name: zone, type: 'CAA', value: '128 iodef "mailto:a@example.test"' },
      { name: `own.${zone}`, type: 'CAA', value: '0 issue ";"' },
    ]);
    const far = await dns.startLookup().caa(`a.b.${zone}`);
    expect(far.kind === 'found' && [...far.values].sort((a, b) => (a.tag < b.tag ? 1 : -1))).toEqual([
      { tag: 'issue', value: 'ca.example', isCritical: false },
      { tag: 'iodef', value: 'mailto:a@example.test', isCritical: true },
    ]);
    expect(await dns.startLookup().caa(`www.own.${zone}`)).toEqual({
      kind: 'found',
      values: [{ tag: 'issue', value: ';', isCritical: false }],
    });
  });

  test('SERVFAIL, REFUSED, timeout and an unreachable server are unknown, each with its reason', async () => {
    const zone = newZone();
    await server.breakZone(zone);
    expect(await dns.startLookup().txt(`a.${zone}`)).toEqual({ kind: 'unknown', reason: 'servfail' });
    expect((await dns.startLookup().route(`a.${zone}`, never)).addresses).toEqual({
      kind: 'unknown',
      reason: 'servfail',
    });
    await server.removeZone(zone);
    expect(await dns.startLookup().txt(`a.${zone}`)).toEqual({ kind: 'unknown', reason: 'refused' });
    await server.pause();
    try {
      expect(await dns.startLookup().txt(`a.${zone}`)).toEqual({ kind: 'unknown', reason: 'timeout' });
    } finally {
      server.resume();
    }
    const gone = openDns({ servers: parseDnsServers('127.0.0.1:1'), port: 1 });
    expect(await gone.startLookup().txt(`a.${zone}`)).toEqual({ kind: 'unknown', reason: 'unreachable' });
  });

  test('an answer that is not authoritative does not count', async () => {
    const zone = newZone();
    // The parent delegates the name to a zone that does not exist, and is not authoritative for it.
    await server.setZone(zone, [
      { name: `sub.${zone}`, type: 'NS', value: `ns.sub.${zone}` },
      { name: `ns.sub.${zone}`, type: 'A', value: server.host },
    ]);
    expect((await dns.startLookup().txt(`www.sub.${zone}`)).kind).toBe('unknown');
  });

  test('name servers in private networks are queried only if the operator configured them', async () => {
    const zone = newZone();
    await server.setZone(zone, [
      { name: zone, type: 'NS', value: `ns.${zone}` },
      { name: `ns.${zone}`, type: 'A', value: '127.0.0.2' },
    ]);
    let heard = 0;
    const inside = await Bun.udpSocket({
      hostname: '127.0.0.2',
      port: server.port,
      socket: {
        data: (socket, bytes, port, host) => {
          heard++;
          const { id = 0, questions = [] } = decode(Buffer.from(bytes));
          const answers = [{ name: `a.${zone}`, type: 'TXT' as const, data: 'here' }];
          const flags = AUTHORITATIVE_ANSWER;
          socket.send(encode({ type: 'response', id, flags, questions, answers }), port, host);
        },
      },
    });
    try {
      expect(await dns.startLookup().txt(`a.${zone}`)).toEqual({ kind: 'unknown', reason: 'unreachable' });
      expect(heard).toBe(0);
      const servers = parseDnsServers(`${server.address},127.0.0.2:${server.port}`);
      const named = openDns({ servers, port: server.port });
      expect(await named.startLookup().txt(`a.${zone}`)).toEqual({ kind: 'found', values: ['here'] });
      expect(heard).toBe(1);
    } finally {
      inside.close();
    }
  });
});

test('isPublicAddress excludes special networks', () => {
  for (const address of ['8.8.8.8', '172.32.0.1', '2001:4860:4860::8888'])
    expect([address, isPublicAddress(address)]).toEqual([address, true]);
  const others = ['127.0.0.1', '10.1.2.3', '169.254.169.254', '192.168.1.1', '100.64.0.1', '0.0.0.0'];
  const six = ['::1', '::ffff:8.8.8.8', 'fe80::1', 'fd00::1', '64:ff9b::7f00:1', '2001:db8::1'];
  for (const address of [...others, ...six, 'no address'])
    expect([address, isPublicAddress(address)]).toEqual([address, false]);
});

test('resolvers are addresses with an optional port', () => {
  expect(parseDnsServers(' 127.0.0.1:5300, [::1]:53,9.9.9.9 ,2620:fe::fe')).toEqual([
    { host: '127.0.0.1', port: 5300 },
    { host: '::1', port: 53 },
    { host: '9.9.9.9', port: 53 },
    { host: '2620:fe::fe', port: 53 },
  ]);
  for (const bad of ['dns.example', '1.2.3.4:0', '1.2.3.4:70000', '[1.2.3', '1.2.3.4.5', '1.2.3.4:x'])
    expect(() => parseDnsServers(bad)).toThrow(RangeError);
});
