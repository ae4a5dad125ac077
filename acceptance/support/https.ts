import { readFileSync } from 'node:fs';
import { type Agent, request } from 'node:https';
import { join } from 'node:path';
import { connect, type PeerCertificate } from 'node:tls';
import { type AcmeServer, forward, loopbackAddress, startAcmeServer } from '../../scripts/acme-server.ts';
import { type DnsServer, startDnsServer } from '../../scripts/dns-server.ts';
import { done } from './rows-proof.ts';
import { freePort, type RunningServer, startServer, temporaryFolder } from './server.ts';
import { newRelease, newSite, type SiteGround, setVisibility } from './sites.ts';

export { hasAcmeServer, needsAcmeServer } from '../../scripts/acme-server.ts';

/** A server with real DNS and a real certificate authority around it. */
export interface HttpsGround {
  server: RunningServer;
  dns: DnsServer;
  /** Where the sites are reached, and the name servers. */
  address: string;
  httpsPort: number;
  /** Of the authority that gives the certificates. */
  root: string;
  env: Record<string, string>;
  stopAuthority(): Promise<void>;
  /** The same one again. */
  startAuthority(): Promise<void>;
  stop(): Promise<void>;
}

export async function startHttpsGround(): Promise<HttpsGround> {
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
  // Where the authority comes to see who is there.
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

/** An open site that shows its own name. */
export async function newOpenSite({ server }: HttpsGround): Promise<SiteGround> {
  const site = await newSite(server);
  const { id } = await newRelease(site, { 'index.html': `<h1>${site.app.slug}</h1>` });
  await done(site.owner.call('POST', `${site.base}/releases/${id}/activate`));
  await setVisibility(site, 'internet');
  return site;
}

export interface DomainRecord {
  id: string;
  host: string;
  url: string;
  status: string;
  certificate: { state: string; reason: string | null; found: string[]; next_step: string };
  records: { type: 'TXT' | 'CNAME' | 'A' | 'AAAA'; name: string; value: string; purpose: string }[];
}

export const newHost = () => `www.h${Bun.randomUUIDv7().replaceAll('-', '').slice(-16)}.example`;

/** As its owner is told to, with an address instead of a name. */
export async function publish({ dns, address }: HttpsGround, domain: DomainRecord): Promise<void> {
  const proofs = domain.records.filter(({ purpose }) => purpose === 'ownership');
  await dns.setZone(domain.host.split('.').slice(1).join('.'), [
    ...proofs,
    { name: domain.host, type: 'A', value: address },
  ]);
}

/** What is shown in a handshake to who names the host; `trusted` where it is for that host, by the authority. */
export function shownTo(
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

/** By HTTPS, trusting nobody but the authority. */
export function askSecurely(
  { root }: Pick<HttpsGround, 'root'>,
  port: number,
  host: string,
  path: string,
  agent?: Agent,
): Promise<{ status: number; headers: NodeJS.Dict<string | string[]>; text: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<Awaited<ReturnType<typeof askSecurely>>>();
  const options = { host: '127.0.0.1', port, path, servername: host, headers: { host }, ca: root };
  const sent = request({ ...options, agent: agent ?? false, timeout: 20_000 }, (answer) => {
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
