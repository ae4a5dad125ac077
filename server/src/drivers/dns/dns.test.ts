import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { AUTHORITATIVE_ANSWER, decode, encode } from 'dns-packet';
import type { DnsServer } from '../../../../scripts/dns-server.ts';
import type { Dns } from './dns.ts';
import { isPublicAddress } from './is-public-address.ts';
import { openDns } from './open-dns.ts';
import { parseDnsServers } from './parse-dns-servers.ts';
import { hasDnsServer, needsDnsServer, newZone, testDnsServer } from './testing.ts';

setDefaultTimeout(30_000);
const never = () => false;

if (needsDnsServer)
  test('a DNS server is on this machine: apt-get install knot', () => expect(hasDnsServer).toBe(true));

describe.if(hasDnsServer)('DNS, by a real name server,', () => {
  let server: DnsServer;
  let dns: Dns;
  beforeAll(async () => {
    server = await testDnsServer();
    dns = openDns({ servers: parseDnsServers(server.address), port: server.port });
  });
  afterAll(() => server?.stop());

  test('texts are found whole, of whatever length and number', async () => {
    const zone = newZone();
    const long = 'x'.repeat(700);
    const many = Array.from({ length: 30 }, (_, at) => `value ${at} ${'y'.repeat(100)}`);
    await server.setZone(zone, [
      { name: `a.${zone}`, type: 'TXT', value: long },
      { name: `a.${zone}`, type: 'TXT', value: 'say "hi" \\ there' },
      ...many.map((value) => ({ name: `b.${zone}`, type: 'TXT' as const, value })),
    ]);
    const one = await dns.look().txt(`a.${zone}`);
    expect(one).toMatchObject({ kind: 'found' });
    expect(one.kind === 'found' && [...one.values].sort()).toEqual(['say "hi" \\ there', long]);
    // More than a datagram holds: asked again over TCP.
    const all = await dns.look().txt(`b.${zone}`);
    expect(all.kind === 'found' && [...all.values].sort()).toEqual([...many].sort());
  });

  test('a name that is not there and a name without such a record are told apart', async () => {
    const zone = newZone();
    await server.setZone(zone, [{ name: `a.${zone}`, type: 'A', value: '192.0.2.1' }]);
    expect(await dns.look().txt(`none.${zone}`)).toEqual({ kind: 'none', because: 'no_name' });
    expect(await dns.look().txt(`a.${zone}`)).toEqual({ kind: 'none', because: 'no_records' });
    expect((await dns.look().route(`none.${zone}`, never)).addresses).toEqual({
      ...{ kind: 'none', because: 'no_name' },
    });
  });

  test('nobody is asked about names that are never any of the DNS', async () => {
    const deaf = openDns({ servers: parseDnsServers('127.0.0.1:1'), port: 1 });
    expect(await deaf.look().txt('www.example.invalid')).toEqual({ kind: 'none', because: 'no_name' });
  });

  test('aliases are followed from zone to zone, and addresses of both kinds are found', async () => {
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
    const { aliases, addresses } = await dns.look().route(`www.${one}`, never);
    expect(aliases).toEqual([`web.${one}`, `host.${other}`]);
    expect(addresses.kind === 'found' && [...addresses.values].sort()).toEqual([
      ...['192.0.2.1', '192.0.2.2', '2001:db8::1'],
    ]);
    const ended = await dns.look().route(`www.${one}`, (alias) => alias === `web.${one}`);
    expect(ended).toEqual({ aliases: [`web.${one}`], addresses: { kind: 'found', values: [] } });
  });

  test('an alias at a challenge is not followed: who is aliased to does not prove', async () => {
    const zone = newZone();
    await server.setZone(zone, [
      { name: `*.${zone}`, type: 'CNAME', value: `other.${zone}` },
      { name: `other.${zone}`, type: 'TXT', value: 'proof' },
    ]);
    expect(await dns.look().txt(`challenge.${zone}`)).toEqual({ kind: 'none', because: 'no_records' });
  });

  test('aliases in a ring lead nowhere', async () => {
    const zone = newZone();
    await server.setZone(zone, [
      { name: `a.${zone}`, type: 'CNAME', value: `b.${zone}` },
      { name: `b.${zone}`, type: 'CNAME', value: `a.${zone}` },
    ]);
    expect((await dns.look().route(`a.${zone}`, never)).addresses.kind).toBe('none');
  });

  test('a zone below another is asked at its own name servers', async () => {
    const zone = newZone();
    await server.setZone(zone, [
      { name: `sub.${zone}`, type: 'NS', value: `ns.sub.${zone}` },
      { name: `ns.sub.${zone}`, type: 'A', value: server.host },
    ]);
    await server.setZone(`sub.${zone}`, [{ name: `www.sub.${zone}`, type: 'TXT', value: 'deep' }]);
    expect(await dns.look().txt(`www.sub.${zone}`)).toEqual({ kind: 'found', values: ['deep'] });
  });

  test('certificates are allowed by the nearest name that says something', async () => {
    const zone = newZone();
    await server.setZone(zone, [
      { name: zone, type: 'CAA', value: '0 issue "ca.example"' },
      { name: zone, type: 'CAA', value: '128 iodef "mailto:a@example.test"' },
      { name: `own.${zone}`, type: 'CAA', value: '0 issue ";"' },
    ]);
    const far = await dns.look().caa(`a.b.${zone}`);
    expect(far.kind === 'found' && [...far.values].sort((a, b) => (a.tag < b.tag ? 1 : -1))).toEqual([
      { tag: 'issue', value: 'ca.example', isCritical: false },
      { tag: 'iodef', value: 'mailto:a@example.test', isCritical: true },
    ]);
    expect(await dns.look().caa(`www.own.${zone}`)).toEqual({
      kind: 'found',
      values: [{ tag: 'issue', value: ';', isCritical: false }],
    });
  });

  test('SERVFAIL, REFUSED, silence and a server that is gone are no answer, each by its name', async () => {
    const zone = newZone();
    await server.breakZone(zone);
    expect(await dns.look().txt(`a.${zone}`)).toEqual({ kind: 'unknown', because: 'servfail' });
    expect((await dns.look().route(`a.${zone}`, never)).addresses).toEqual({
      ...{ kind: 'unknown', because: 'servfail' },
    });
    await server.removeZone(zone);
    expect(await dns.look().txt(`a.${zone}`)).toEqual({ kind: 'unknown', because: 'refused' });
    await server.pause();
    try {
      expect(await dns.look().txt(`a.${zone}`)).toEqual({ kind: 'unknown', because: 'timeout' });
    } finally {
      server.resume();
    }
    const gone = openDns({ servers: parseDnsServers('127.0.0.1:1'), port: 1 });
    expect(await gone.look().txt(`a.${zone}`)).toEqual({ kind: 'unknown', because: 'unreachable' });
  });

  test('an answer without authority does not count', async () => {
    const zone = newZone();
    // The parent hands the name on, and the zone it names is not there: whoever holds the parent can not speak for it.
    await server.setZone(zone, [
      { name: `sub.${zone}`, type: 'NS', value: `ns.sub.${zone}` },
      { name: `ns.sub.${zone}`, type: 'A', value: server.host },
    ]);
    expect((await dns.look().txt(`www.sub.${zone}`)).kind).toBe('unknown');
  });

  test('name servers in networks that are not public are not asked, unless the operator named them', async () => {
    const zone = newZone();
    await server.setZone(zone, [
      { name: zone, type: 'NS', value: `ns.${zone}` },
      { name: `ns.${zone}`, type: 'A', value: '127.0.0.2' },
    ]);
    let heard = 0;
    const inside = await Bun.udpSocket({
      ...{ hostname: '127.0.0.2', port: server.port },
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
      expect(await dns.look().txt(`a.${zone}`)).toEqual({ kind: 'unknown', because: 'unreachable' });
      expect(heard).toBe(0);
      const servers = parseDnsServers(`${server.address},127.0.0.2:${server.port}`);
      const named = openDns({ servers, port: server.port });
      expect(await named.look().txt(`a.${zone}`)).toEqual({ kind: 'found', values: ['here'] });
      expect(heard).toBe(1);
    } finally {
      inside.close();
    }
  });
});

test('public addresses are those of the public internet', () => {
  for (const address of ['8.8.8.8', '172.32.0.1', '2001:4860:4860::8888'])
    expect([address, isPublicAddress(address)]).toEqual([address, true]);
  const others = ['127.0.0.1', '10.1.2.3', '169.254.169.254', '192.168.1.1', '100.64.0.1', '0.0.0.0'];
  const six = ['::1', '::ffff:8.8.8.8', 'fe80::1', 'fd00::1', '64:ff9b::7f00:1', '2001:db8::1'];
  for (const address of [...others, ...six, 'no address'])
    expect([address, isPublicAddress(address)]).toEqual([address, false]);
});

test('resolvers are written as addresses, with a port or without', () => {
  expect(parseDnsServers(' 127.0.0.1:5300, [::1]:53,9.9.9.9 ,2620:fe::fe')).toEqual([
    ...[
      { host: '127.0.0.1', port: 5300 },
      { host: '::1', port: 53 },
    ],
    ...[
      { host: '9.9.9.9', port: 53 },
      { host: '2620:fe::fe', port: 53 },
    ],
  ]);
  for (const bad of ['dns.example', '1.2.3.4:0', '1.2.3.4:70000', '[1.2.3', '1.2.3.4.5', '1.2.3.4:x'])
    expect(() => parseDnsServers(bad)).toThrow(RangeError);
});
