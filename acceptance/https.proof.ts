import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { join } from 'node:path';
import { connect, type PeerCertificate } from 'node:tls';
import {
  type AcmeServer,
  forward,
  hasAcmeServer,
  loopbackAddress,
  startAcmeServer,
} from '../scripts/acme-server.ts';
import { type DnsServer, startDnsServer } from '../scripts/dns-server.ts';
import { freePort } from '../scripts/free-port.ts';
import { patientMs } from '../scripts/patience.ts';
import { svcFor } from './support/commands.ts';
import { databaseUrlOf, openServerDatabase, type ServerDatabase } from './support/database.ts';
import { done } from './support/people.ts';
import { type RunningServer, startServer, temporaryFolder } from './support/server.ts';
import { askHost, newRelease, newSite, type SiteGround, setVisibility } from './support/sites.ts';
import { until } from './support/until.ts';

/** A server with real DNS and a real certificate authority around it. */
interface HttpsGround {
  server: RunningServer;
  dns: DnsServer;
  /** Ports of the sites and of the name servers. */
  address: string;
  httpsPort: number;
  /** Certificate of the authority that issues the certificates. */
  root: string;
  env: Record<string, string>;
  stopAuthority(): Promise<void>;
  /** Starts the same server again. */
  startAuthority(): Promise<void>;
  stop(): Promise<void>;
}

async function startHttpsGround(): Promise<HttpsGround> {
  const folder = temporaryFolder();
  const address = loopbackAddress();
  const dns = await startDnsServer(join(folder, 'dns'), { host: address, port: 53 });
  const place = { dnsHost: address };
  const started = await startAcmeServer(join(folder, 'acme'), place);
  let acme: AcmeServer | null = started;
  const httpsPort = freePort();
  const env = {
    SVC_DNS_SERVERS: `${address}:53`,
    SVC_EDGE_ADDRESSES: address,
    SVC_HTTPS_PORT: String(httpsPort),
    SVC_ACME_DIRECTORY: started.directoryUrl,
    SVC_ACME_CA_FILE: started.caFile,
    SVC_ACME_EMAIL: 'ops@example.test',
  };
  const server = await startServer({ env });
  // The port to which the authority sends its challenges.
  const plain = forward({ host: address, port: 80 }, { host: '127.0.0.1', port: server.port });
  const stopAuthority = async () => {
    await acme?.stop();
    acme = null;
  };
  return {
    server,
    dns,
    address,
    httpsPort,
    root: readFileSync(started.caFile, 'utf8'),
    env,
    stopAuthority,
    startAuthority: async () => {
      acme = await startAcmeServer(join(folder, 'acme'), { ...place, port: started.port });
    },
    stop: async () => {
      plain.stop();
      await stopAuthority();
      await dns.stop();
    },
  };
}

/** A public site that shows its own name. */
async function newOpenSite({ server }: HttpsGround): Promise<SiteGround> {
  const site = await newSite(server);
  const { id } = await newRelease(site, { 'index.html': `<h1>${site.app.slug}</h1>` });
  await done(site.owner.call('POST', `${site.base}/releases/${id}/activate`));
  await setVisibility(site, 'internet');
  return site;
}

interface DomainRecord {
  id: string;
  host: string;
  url: string;
  status: string;
  certificate: { state: string; reason: string | null; found: string[]; next_step: string };
  records: { type: 'TXT' | 'CNAME' | 'A' | 'AAAA'; name: string; value: string; purpose: string }[];
}

const newHost = () => `www.h${Bun.randomUUIDv7().replaceAll('-', '').slice(-16)}.example`;

/** The DNS record that the owner is asked to create, with an address instead of a name. */
async function publish({ dns, address }: HttpsGround, domain: DomainRecord): Promise<void> {
  const proofs = domain.records.filter(({ purpose }) => purpose === 'ownership');
  await dns.setZone(domain.host.split('.').slice(1).join('.'), [
    ...proofs,
    { name: domain.host, type: 'A', value: address },
  ]);
}

/** The certificate of a TLS handshake for the host; `trusted`: for that host, by the authority. */
function shownTo(
  { root }: Pick<HttpsGround, 'root'>,
  port: number,
  host: string,
): Promise<{ certificate: PeerCertificate; trusted: boolean }> {
  const { promise, resolve, reject } = Promise.withResolvers<{
    certificate: PeerCertificate;
    trusted: boolean;
  }>();
  const socket = connect(
    { host: '127.0.0.1', port, servername: host, ca: root, rejectUnauthorized: false },
    () => {
      resolve({ certificate: socket.getPeerCertificate(), trusted: socket.authorized });
      socket.destroy();
    },
  );
  socket.once('error', reject);
  return promise;
}

/** A request by HTTPS that trusts only the authority. */
function askSecurely(
  { root }: Pick<HttpsGround, 'root'>,
  port: number,
  host: string,
  path: string,
  agent?: Agent,
): Promise<{ status: number; headers: NodeJS.Dict<string | string[]>; text: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<Awaited<ReturnType<typeof askSecurely>>>();
  const options = { host: '127.0.0.1', port, path, servername: host, headers: { host }, ca: root };
  const sent = request({ ...options, agent: agent ?? false, timeout: patientMs(20_000) }, (answer) => {
    let text = '';
    answer.setEncoding('utf8');
    answer.on('data', (chunk: string) => {
      text += chunk;
    });
    answer.on('error', reject);
    answer.on('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text }));
  });
  sent.on('timeout', () => sent.destroy(new Error('It did not answer in time.')));
  sent.on('error', reject);
  sent.end();
  return promise;
}

describe.if(hasAcmeServer)('with real DNS and a real certificate authority', () => {
  let ground: HttpsGround;
  let database: ServerDatabase;
  beforeAll(async () => {
    ground = await startHttpsGround();
    database = openServerDatabase(ground.server);
  });
  afterAll(async () => {
    await database?.close();
    await ground?.stop();
  });

  const domainsOf = (site: SiteGround) => `${site.tenant.base}/apps/${site.app.id}/domains`;
  const verify = (site: SiteGround, id: string): Promise<DomainRecord> =>
    done(site.owner.call('POST', `${domainsOf(site)}/${id}/verify`));

  /** Adds the domain and publishes its records. */
  async function attach(site: SiteGround, host = newHost()): Promise<DomainRecord> {
    const domain: DomainRecord = await done(site.owner.call('POST', domainsOf(site), { host }));
    await publish(ground, domain);
    return domain;
  }

  async function activate(site: SiteGround, host?: string): Promise<DomainRecord> {
    const { id } = await attach(site, host);
    const active = await until(
      'the domain becomes active',
      async () => {
        const domain = await verify(site, id);
        return domain.status === 'active' && domain;
      },
      30_000,
    );
    // All copies of the server are notified, this one included.
    await until('the edge has heard of it', async () => {
      return (await askHost(ground.server, active.host, '/')).status !== 421;
    });
    return active;
  }

  const trusted = (host: string, port = ground.httpsPort) =>
    until('a certificate for the host is shown', async () => (await shownTo(ground, port, host)).trusted);
  const fingerprint = async (host: string, port = ground.httpsPort) =>
    (await shownTo(ground, port, host)).certificate.fingerprint256;

  test('a domain becomes active by the command line and serves HTTPS with its own certificate', async () => {
    const site = await newOpenSite(ground);
    const svc = svcFor(ground.server, { token: site.owner.token, tenant: site.tenant.slug });
    const host = newHost();
    const added = await svc(['apps', 'domains', 'add', host, '--app', site.app.slug, '--execute', '--json']);
    expect(added.code).toBe(0);
    const domain = added.json<DomainRecord>();
    await publish(ground, domain);
    const verified = await svc([
      'apps',
      'domains',
      'verify',
      domain.id,
      '--app',
      site.app.slug,
      '--wait',
      '--timeout',
      '60s',
      '--json',
    ]);
    expect([verified.code, verified.json<DomainRecord>().status]).toEqual([0, 'active']);
    expect(verified.json<DomainRecord>().url).toBe(`https://${host}:${ground.httpsPort}/`);
    await trusted(host);
    const { certificate } = await shownTo(ground, ground.httpsPort, host);
    expect(certificate.subjectaltname).toBe(`DNS:${host}`);
    const answer = await askSecurely(ground, ground.httpsPort, host, '/');
    expect([answer.status, answer.text]).toEqual([200, `<h1>${site.app.slug}</h1>`]);
    expect(answer.headers['strict-transport-security']).toBeUndefined();
  });

  test('plain HTTP redirects to HTTPS, except for ACME challenges', async () => {
    const site = await newOpenSite(ground);
    const { host } = await activate(site);
    await trusted(host);
    const plain = await askHost(ground.server, host, '/a%20b/?c=d&e');
    expect([plain.status, plain.headers.location]).toEqual([
      308,
      `https://${host}:${ground.httpsPort}/a%20b/?c=d&e`,
    ]);
    const challenge = await askHost(ground.server, host, '/.well-known/acme-challenge/nothing-of-the-kind');
    expect([challenge.status, challenge.headers.location]).toEqual([404, undefined]);
    // The app's own host has no certificate here, and is served as before.
    expect((await askHost(ground.server, site.host, '/')).status).toBe(200);
  });

  test('a connection without a known host gets a self-signed certificate', async () => {
    const { certificate, trusted: isTrusted } = await shownTo(ground, ground.httpsPort, newHost());
    expect([isTrusted, certificate.subjectaltname]).toEqual([false, undefined as never]);
  });

  test('a removed domain is cut off immediately, and its certificate is deleted', async () => {
    const site = await newOpenSite(ground);
    const { id, host } = await activate(site);
    await trusted(host);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    expect((await askSecurely(ground, ground.httpsPort, host, '/', agent)).status).toBe(200);
    const svc = svcFor(ground.server, { token: site.owner.token, tenant: site.tenant.slug });
    const removal = ['apps', 'domains', 'remove', id, '--app', site.app.slug, '--execute', '--yes'];
    expect((await svc(removal)).code).toBe(0);
    // Also on a connection that was opened with the certificate.
    expect((await askSecurely(ground, ground.httpsPort, host, '/', agent)).status).toBe(421);
    agent.destroy();
    expect(await database.query('select * from svc.certificates where domain_id = $1', [id])).toEqual([]);
    await until('the certificate is no longer shown', async () => {
      return !(await shownTo(ground, ground.httpsPort, host)).trusted;
    });
    expect((await askHost(ground.server, host, '/')).text).not.toContain(site.app.slug);
    expect((await svc(removal)).code).toBe(5);
  });

  test('a certificate is renewed without a lost request', async () => {
    const site = await newOpenSite(ground);
    const { id, host } = await activate(site);
    await trusted(host);
    const before = await fingerprint(host);
    const agent = new Agent({ keepAlive: true });
    let isOver = false;
    let answered = 0;
    const visitors = [agent, agent, undefined, undefined].map(async (by) => {
      while (!isOver) {
        const { status } = await askSecurely(ground, ground.httpsPort, host, '/', by);
        if (status !== 200) throw new Error(`It answered ${status}.`);
        answered++;
      }
    });
    // In the last third of the certificate's validity.
    await database.query(
      `update svc.certificates set next_try_at = now(), not_after = now() + interval '1 hour' where domain_id = $1`,
      [id],
    );
    // The job and each order look for due certificates.
    await activate(site);
    await until('another certificate is shown', async () => (await fingerprint(host)) !== before, 30_000);
    const then = answered;
    await until('visitors are answered with it', async () => answered > then + 20);
    isOver = true;
    await Promise.all(visitors);
    agent.destroy();
    const [row] = await database.query(
      `select not_after > now() + interval '2 hours' as is_new, failures from svc.certificates where domain_id = $1`,
      [id],
    );
    expect(row).toEqual({ is_new: true, failures: 0 });
    const renewed = await database.query(
      `select count(*)::int as count from svc.audit_entries where action = 'certificates.issue' and target_id = $1`,
      [id],
    );
    expect(renewed).toEqual([{ count: 2 }]);
  });

  test('while the authority is away nothing changes and the reason is shown; afterwards certificates are issued', async () => {
    const site = await newOpenSite(ground);
    const active = await activate(site);
    await trusted(active.host);
    await ground.stopAuthority();
    let waiting: DomainRecord;
    try {
      const { id } = await attach(site);
      waiting = await until('the failure is reported', async () => {
        const domain = await verify(site, id);
        return domain.certificate.state === 'failed' && domain;
      });
      expect([waiting.status, waiting.certificate.reason]).toEqual(['pending', 'order_failed']);
      expect(JSON.stringify(waiting.certificate)).toContain('cannot be reached');
      // The other certificate is due as well, and is not lost by the failure.
      await database.query('update svc.certificates set next_try_at = now() where domain_id = $1', [
        active.id,
      ]);
      expect((await verify(site, active.id)).status).toBe('active');
      expect((await askSecurely(ground, ground.httpsPort, active.host, '/')).status).toBe(200);
    } finally {
      await ground.startAuthority();
    }
    // Moves the time to the next attempt.
    await database.query(
      `update svc.certificates set tried_at = tried_at - interval '1 hour', next_try_at = now() where domain_id = $1`,
      [waiting.id],
    );
    await until(
      'the domain becomes active',
      async () => (await verify(site, waiting.id)).status === 'active',
      30_000,
    );
    await trusted(waiting.host);
  });

  test('all servers of one database share a certificate, and lose it together', async () => {
    const httpsPort = freePort();
    const copy = await startServer({
      env: {
        ...ground.env,
        SVC_HTTPS_PORT: String(httpsPort),
        SVC_DATABASE_URL: databaseUrlOf(ground.server),
        SVC_SEED: 'none',
      },
    });
    const site = await newOpenSite(ground);
    const { id, host } = await activate(site);
    await trusted(host);
    await trusted(host, httpsPort);
    expect(await fingerprint(host, httpsPort)).toBe(await fingerprint(host));
    const orders = await database.query(
      `select count(*)::int as count from svc.audit_entries where action = 'certificates.issue' and target_id = $1`,
      [id],
    );
    expect(orders).toEqual([{ count: 1 }]);
    expect((await site.owner.call('DELETE', `${domainsOf(site)}/${id}`)).status).toBe(204);
    for (const port of [httpsPort, ground.httpsPort]) {
      await until('it is no longer shown', async () => !(await shownTo(ground, port, host)).trusted, 2_000);
    }
    expect(await copy.stop()).toBe(0);
  });
});
