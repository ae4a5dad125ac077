import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { type DnsRecord, type DnsServer, hasDnsServer, startDnsServer } from '../scripts/dns-server.ts';
import { patientMs } from '../scripts/patience.ts';
import { type Ran, svcFor } from './support/commands.ts';
import { openServerDatabase, type ServerDatabase } from './support/database.ts';
import { type RunningServer, startServer, temporaryFolder } from './support/server.ts';
import { askHost, newRelease, newSite, type SiteGround, setVisibility } from './support/sites.ts';
import { until } from './support/until.ts';

/** A real name server, with its zones in a folder of the test. */
function startDns(): Promise<DnsServer> {
  return startDnsServer(join(temporaryFolder(), 'dns'));
}

/** Settings with which a server uses that name server. */
function dnsEnv({ address, port }: DnsServer): Record<string, string> {
  return { SVC_DNS_SERVERS: address, SVC_DNS_PORT: String(port) };
}

/** A new zone. */
function newZone(): string {
  return `z${Bun.randomUUIDv7().replaceAll('-', '').slice(-16)}.test`;
}

/** The records that the server requires, in the form of a zone file. */
function asRecords(records: readonly DnsRecord[]): DnsRecord[] {
  return records.map(({ name, type, value }) => ({ name, type, value }));
}

interface Domain {
  id: string;
  host: string;
  host_unicode: string;
  status: string;
  disconnected_for: string | null;
  records: DnsRecord[];
  ownership: Check;
  routing: Check;
  certificate: Check;
}
interface Check {
  state: string;
  reason: string | null;
  expected: string;
  found: string[];
  next_step: string;
}

describe.if(hasDnsServer)('custom domains, with a real name server,', () => {
  let dns: DnsServer;
  let server: RunningServer;
  let database: ServerDatabase;
  let patient: { site: Site; domain: Domain };
  beforeAll(async () => {
    dns = await startDns();
    // On the embedded database: the tests change times in it.
    server = await startServer({ env: { SVC_DATABASE_URL: '', ...dnsEnv(dns) } });
    database = openServerDatabase(server);
    // A domain that no request checks: the job handles it while the other tests run.
    const [site, zone] = [await openSite(), newZone()];
    patient = { site, domain: await site.add(`www.${zone}`) };
    await dns.setZone(zone, asRecords(patient.domain.records));
  });
  afterAll(async () => {
    await database?.close();
    await dns?.stop();
  });

  interface Site extends SiteGround {
    text: string;
    /** `svc apps domains … --app … --json` as the owner. */
    domains: (...args: string[]) => Promise<Ran>;
    add: (host: string) => Promise<Domain>;
    verify: (domain: Domain) => Promise<Domain>;
  }

  /** A new tenant with a public site. */
  async function openSite(): Promise<Site> {
    const site = await newSite(server);
    const text = `I am ${site.app.slug}.`;
    await newRelease(site, { 'index.html': text }, { on_finalize: 'deploy' });
    await setVisibility(site, 'internet');
    const svc = svcFor(server, { token: site.owner.token, tenant: site.tenant.slug });
    const domains = (...args: string[]) =>
      svc(['apps', 'domains', ...args, '--app', site.app.slug, '--json']);
    const done = async (...args: string[]) => {
      const ran = await domains(...args);
      expect([args, ran.code, ran.stderr.includes('Error')]).toEqual([args, 0, false]);
      return ran.json<Domain>();
    };
    return {
      ...site,
      text,
      domains,
      add: (host) => done('add', host, '--execute'),
      verify: ({ id }) => done('verify', id),
    };
  }

  /** The site that a visitor sees at the host; null: neither a site nor a page of the platform. */
  async function shownAt(host: string, ...sites: Site[]): Promise<string | null> {
    const { status, text } = await askHost(server, `${host}:${server.port}`, '/');
    if (status === 404 || status === 421) return null;
    const shown = sites.find((site) => status === 200 && text === site.text);
    if (!shown) throw new Error(`At ${host} somebody else answered: ${status} ${text}`);
    return shown.app.slug;
  }

  /** An active domain is served once the edge is notified; an inactive one is never served again. */
  const serves = (host: string, site: Site, among: Site[]) =>
    until(`${host} is served`, async () => (await shownAt(host, ...among)) === site.app.slug);

  test('a host is added, explained, verified, served and removed with the command line', async () => {
    const [site, zone] = [await openSite(), newZone()];
    const host = `www.${zone}`;
    await dns.setZone(zone, []);
    const preview = (await site.domains('add', host)).json<{ plan: { changes: unknown[] } }>();
    expect(preview.plan.changes).toContainEqual(expect.objectContaining({ path: 'host', after: host }));
    expect((await site.domains('list')).json<{ items: unknown[] }>().items).toEqual([]);

    const added = await site.add(host);
    expect(added).toMatchObject({ host, status: 'pending' });
    expect(added.records.map(({ type, name }) => [type, name])).toEqual([
      ['TXT', `_svc-challenge.${host}`],
      ['CNAME', host],
    ]);
    const waiting = await site.verify(added);
    expect(waiting).toMatchObject({
      status: 'pending',
      ownership: { state: 'failed', reason: 'missing', found: [] },
      routing: { state: 'failed', reason: 'missing', found: [] },
    });
    expect(waiting.ownership.expected).toContain(added.records[0]!.value);
    expect(waiting.ownership.next_step).toContain(`_svc-challenge.${host}`);
    expect(await shownAt(host, site)).toBeNull();

    await dns.setZone(zone, asRecords(added.records));
    expect((await site.verify(added)).status).toBe('active');
    await serves(host, site, [site]);

    expect((await site.domains('remove', added.id)).json()).toMatchObject({ dry_run: true });
    await serves(host, site, [site]);
    expect((await site.domains('remove', added.id, '--execute')).code).toBe(0);
    expect(await shownAt(host, site)).toBeNull();
    const again = await site.domains('remove', added.id, '--execute');
    expect([again.code, JSON.parse(again.stderr).code]).toEqual([5, 'not_found']);
  });

  test('for people, verify shows what to publish and what is wrong', async () => {
    const [site, zone] = [await openSite(), newZone()];
    const host = `www.${zone}`;
    await dns.setZone(zone, [{ name: host, type: 'A', value: '203.0.113.9' }]);
    const { id, records } = await site.add(host);
    const svc = svcFor(server, { token: site.owner.token, tenant: site.tenant.slug });
    const ran = await svc(['apps', 'domains', 'verify', id, '--app', site.app.slug]);
    expect(ran.code).toBe(0);
    expect(ran.stdout).toContain(`${host} is pending`);
    for (const { name, value } of records) expect(ran.stdout).toMatch(new RegExp(`${name} +${value}`));
    expect(ran.stdout).toMatch(
      /routing +failed \(mismatch\)\n +expected .*\n +found +A 203\.0\.113\.9\n +next /,
    );
  });

  test('two tenants claim one host: only the one with the TXT gets it', async () => {
    const [one, other, zone] = [await openSite(), await openSite(), newZone()];
    const host = `shop.${zone}`;
    const [mine, theirs] = [await one.add(host), await other.add(host)];
    await dns.setZone(zone, asRecords(theirs.records));
    const refused = await one.verify(mine);
    expect([refused.status, refused.ownership.reason, refused.routing.state]).toEqual([
      'pending',
      'mismatch',
      'ok',
    ]);
    expect((await other.verify(theirs)).status).toBe('active');
    await serves(host, other, [one, other]);

    // Both records exist: the current holder keeps the domain.
    const challenge = mine.records[0]!;
    await dns.setZone(zone, asRecords([...theirs.records, challenge]));
    const held = await one.domains('verify', mine.id);
    expect([held.code, JSON.parse(held.stderr).code]).toEqual([6, 'host_active_elsewhere']);
    await serves(host, other, [one, other]);

    // The other record is gone: the domain goes to the app that proves ownership now.
    await dns.setZone(zone, asRecords(mine.records));
    expect((await one.verify(mine)).status).toBe('active');
    await serves(host, one, [one, other]);
    const lost = (await other.domains('list')).json<{ items: Domain[] }>().items[0];
    expect([lost?.status, lost?.disconnected_for]).toEqual(['disconnected', 'claimed_elsewhere']);
    await until('the loss stands in the audit of who had it', async () => {
      const { body } = await other.tenant.admin.call(
        'GET',
        `${other.tenant.base}/audit?target_id=${theirs.id}`,
      );
      return body.items.some(({ action }: { action: string }) => action === 'domains.disconnect');
    });
  });

  test('a removed host is not served to another tenant without a fresh TXT', async () => {
    const [one, other, zone] = [await openSite(), await openSite(), newZone()];
    const host = `www.${zone}`;
    const mine = await one.add(host);
    await dns.setZone(zone, asRecords(mine.records));
    expect((await one.verify(mine)).status).toBe('active');
    expect((await one.domains('remove', mine.id, '--execute')).code).toBe(0);
    // The zone still points here, with the record of the previous holder.
    const theirs = await other.add(host);
    for (let attempt = 0; attempt < 3; attempt++) expect((await other.verify(theirs)).status).toBe('pending');
    expect(await shownAt(host, one, other)).toBeNull();
    // The previous holder needs a new record, too.
    const added = await one.add(host);
    expect((await one.verify(added)).ownership.reason).toBe('mismatch');
    await dns.setZone(zone, asRecords(theirs.records));
    expect((await other.verify(theirs)).status).toBe('active');
    await serves(host, other, [one, other]);
  });

  test('a host is one host however it is written, in any alphabet', async () => {
    const site = await openSite();
    const label = Bun.randomUUIDv7().slice(-12);
    const added = await site.add(`WWW.Bücher-${label}.TEST.`);
    expect(added.host_unicode).toBe(`www.bücher-${label}.test`);
    expect(added.host).toMatch(/^www\.xn--[a-z0-9-]+\.test$/);
    for (const same of [added.host, added.host.toUpperCase(), `${added.host_unicode}.`]) {
      const again = await site.domains('add', same, '--execute');
      expect([same, again.code, JSON.parse(again.stderr).code]).toEqual([same, 6, 'already_attached']);
    }
    const zone = added.host.replace('www.', '');
    await dns.setZone(zone, asRecords(added.records));
    expect((await site.verify(added)).status).toBe('active');
    await serves(added.host, site, [site]);
  });

  test('an impossible custom domain is refused with its reason', async () => {
    const { owner, tenant, app } = await openSite();
    const added = async (host: string) => {
      const { status, body } = await owner.call('POST', `${tenant.base}/apps/${app.id}/domains`, { host });
      return `${status} ${body.code}`;
    };
    for (const host of [
      'www.example.test:8080',
      'https://www.example.test',
      'www.example.test/shop',
      'me@example.test',
      '127.0.0.1',
      '0x7f.1',
      '[::1]',
      '*.example.test',
      'example',
      'a..example.test',
      'a_b.example.test',
    ])
      expect([host, await added(host)]).toEqual([host, '400 validation_failed']);
    for (const host of [
      'apps.localhost',
      `${app.slug}.apps.localhost`,
      'edge.apps.localhost',
      'www.localhost',
      'com',
      'localhost',
      'co.uk',
      'github.io',
      'blogspot.com',
    ])
      expect([host, await added(host)]).toEqual([host, '422 host_reserved']);
  });

  test('the apex of a zone is verified by all of its addresses', async () => {
    const [site, zone] = [await openSite(), newZone()];
    const added = await site.add(zone);
    expect(added.records.slice(1)).toMatchObject([{ type: 'A', name: zone, value: '127.0.0.1' }]);
    const foreign: DnsRecord = { name: zone, type: 'A', value: '203.0.113.9' };
    await dns.setZone(zone, [...asRecords(added.records), foreign]);
    const mixed = await site.verify(added);
    expect([mixed.status, mixed.routing.reason, [...mixed.routing.found].sort()]).toEqual([
      'pending',
      'mismatch',
      ['A 127.0.0.1', 'A 203.0.113.9'],
    ]);
    await dns.setZone(zone, asRecords(added.records));
    expect((await site.verify(added)).status).toBe('active');
    await serves(zone, site, [site]);
  });

  test('a CNAME is followed over others to the platform', async () => {
    const [site, zone] = [await openSite(), newZone()];
    const added = await site.add(`www.${zone}`);
    const [challenge, route] = asRecords(added.records);
    await dns.setZone(zone, [
      challenge!,
      { name: `www.${zone}`, type: 'CNAME', value: `web.${zone}` },
      { name: `web.${zone}`, type: 'CNAME', value: route!.value },
    ]);
    expect((await site.verify(added)).status).toBe('active');
  });

  /** Moves the domain's times back. */
  const pass = (id: string, interval: string) =>
    database.query(
      `update svc.domains set pending_since = pending_since - $2::interval, wrong_since = wrong_since - $2::interval
       where id = $1`,
      [id, interval],
    );

  test('SERVFAIL and timeouts never disconnect a host; an authoritative NXDOMAIN does after a day', async () => {
    const [site, zone] = [await openSite(), newZone()];
    const host = `www.${zone}`;
    const added = await site.add(host);
    await dns.setZone(zone, asRecords(added.records));
    expect((await site.verify(added)).status).toBe('active');

    await dns.breakZone(zone);
    for (let check = 0; check < 4; check++) {
      expect((await site.verify(added)).status).toBe('active');
      await pass(added.id, '2 days');
    }
    await dns.pause();
    try {
      expect((await site.verify(added)).status).toBe('active');
    } finally {
      dns.resume();
    }
    await dns.removeZone(zone);
    expect((await site.verify(added)).status).toBe('active');
    await serves(host, site, [site]);

    await dns.setZone(zone, []);
    for (let check = 0; check < 3; check++) {
      const wrong = await site.verify(added);
      expect([wrong.status, wrong.routing.reason]).toEqual(['active', 'missing']);
    }
    await pass(added.id, '24 hours');
    const gone = await site.verify(added);
    expect([gone.status, gone.disconnected_for]).toEqual(['disconnected', 'records_wrong']);
    expect(await shownAt(host, site)).toBeNull();

    await dns.setZone(zone, asRecords(added.records));
    expect((await site.verify(added)).status).toBe('active');
    await serves(host, site, [site]);
  });

  test('--wait waits for the records, and exits 10 after its time', async () => {
    const [site, zone] = [await openSite(), newZone()];
    const added = await site.add(`www.${zone}`);
    await dns.setZone(zone, []);
    const late = await site.domains('verify', added.id, '--wait', '--timeout', '2s');
    expect([late.code, late.json<Domain>().status]).toEqual([10, 'pending']);
    const waiting = site.domains('verify', added.id, '--wait', '--timeout', '60s');
    await dns.setZone(zone, asRecords(added.records));
    const done = await waiting;
    expect([done.code, done.json<Domain>().status]).toEqual([0, 'active']);
  });

  test('--wait exits 10 also when the server does not respond', async () => {
    const site = await openSite();
    const deaf = createServer(() => {});
    await new Promise<void>((resolve) => deaf.listen(0, '127.0.0.1', resolve));
    const address = deaf.address() as { port: number };
    const svc = svcFor(server, { token: site.owner.token, tenant: site.tenant.slug });
    const line = ['apps', 'domains', 'verify', Bun.randomUUIDv7(), '--app', 'x', '--wait', '--timeout', '1s'];
    const begun = performance.now();
    const ran = await svc(line, { env: { SVC_BASE_URL: `http://127.0.0.1:${address.port}` } });
    expect([ran.code, ran.stderr.includes('wait_timeout')]).toEqual([10, true]);
    expect(performance.now() - begun).toBeLessThan(patientMs(10_000));
    deaf.close();
  });

  test('a deleted app loses its hosts immediately', async () => {
    const [site, zone] = [await openSite(), newZone()];
    const host = `www.${zone}`;
    const added = await site.add(host);
    await dns.setZone(zone, asRecords(added.records));
    expect((await site.verify(added)).status).toBe('active');
    const path = `${site.tenant.base}/apps/${site.app.id}`;
    expect((await site.owner.call('DELETE', path)).status).toBe(200);
    expect(await shownAt(host, site)).toBeNull();
    expect((await site.owner.call('POST', `${path}/restore`)).status).toBe(200);
    expect((await site.domains('list')).json<{ items: unknown[] }>().items).toEqual([]);
  });

  test('a pending host is checked in the background, and served when it is right', async () => {
    const { site, domain } = patient;
    const path = `${site.tenant.base}/apps/${site.app.id}/domains/${domain.id}`;
    await until(
      'the job has checked the domain',
      async () => (await site.owner.call('GET', path)).body.status === 'active',
      100_000,
    );
    await serves(domain.host, site, [site]);
  });
});
