import { beforeEach } from 'bun:test';
import { challengeLabel } from '@svc/contract/domains.ts';
import { sql } from 'kysely';
import { lifecycleWorld } from '../../apps/record/testing.ts';
import type { CaaRecord, Dns, DnsError } from '../../drivers/dns/dns.ts';
import { type Answer, startServerCopy, useServer } from '../../identity/provider/testing.ts';
import { testDeps } from '../../testing.ts';
import { domainRoutes } from '../module.ts';
import { checkDomains } from './check-domains.ts';
import { noCertificates, openDomainsConfig } from './domain-record.ts';
import { lossTopic, notifyLoss } from './notify-owners.ts';
import { type DomainRow, listActiveHosts } from './store.ts';

export type MemoryDns = ReturnType<typeof memoryDns>;

/** DNS in memory. The driver has tests of its own. */
export function memoryDns() {
  const dns = {
    texts: new Map<string, string[]>(),
    routes: new Map<string, { aliases?: string[]; addresses?: string[] }>(),
    caa: null as CaaRecord[] | null,
    trouble: null as DnsError | null,
    textTrouble: null as DnsError | null,
    questions: 0,
    /** Awaited between reading the TXT values and returning them. */
    afterRead: async (_name: string) => {},
  };
  function answer<T>(values: readonly T[] | undefined, trouble = dns.trouble) {
    dns.questions++;
    if (trouble) return { kind: 'unknown', reason: trouble } as const;
    return values ? ({ kind: 'found', values } as const) : ({ kind: 'none', reason: 'no_name' } as const);
  }
  const startLookup: Dns['startLookup'] = () => ({
    txt: async (name) => {
      const found = answer(dns.texts.get(name), dns.textTrouble ?? dns.trouble);
      await dns.afterRead(name);
      return found;
    },
    caa: async () => answer(dns.caa ?? undefined),
    route: async (name) => {
      const { aliases = [], addresses } = dns.trouble ? {} : (dns.routes.get(name) ?? {});
      return { aliases, addresses: answer(addresses ?? (aliases.length > 0 ? [] : undefined)) };
    },
  });
  return Object.assign(dns, { startLookup });
}

/** Delays the result of the next TXT lookup until `letThrough`. */
export function holdNext(dns: MemoryDns) {
  const { promise: isLet, resolve: letThrough } = Promise.withResolvers<void>();
  const { promise: isRead, resolve: read } = Promise.withResolvers<void>();
  dns.afterRead = () => {
    dns.afterRead = async () => {};
    read();
    return isLet;
  };
  return { isRead, letThrough };
}

export const testAppsDomain = 'apps.platform.example';

export const testDomainsConfig = (dns: Dns, certificates = noCertificates) =>
  openDomainsConfig({
    dns,
    certificates,
    baseUrl: 'http://svc.platform.example:4400',
    appsDomain: testAppsDomain,
    secureOrigin: ({ host, hasCertificate }) => (hasCertificate ? `https://${host}` : null),
    host: '0.0.0.0',
    edgeAddresses: ['192.0.2.10', '2001:db8::10'],
    caaId: 'ca.example',
  });

export const newHost = () => `www.h${Bun.randomUUIDv7().replaceAll('-', '').slice(-16)}.example`;

/** A database and a server for the test file. DNS and certificates are as at first before each test. */
export function useDomains() {
  const dns = memoryDns();
  const { startLookup } = dns;
  const certificates = { ...noCertificates };
  beforeEach(() => {
    Object.assign(dns, memoryDns(), { startLookup });
    Object.assign(certificates, noCertificates);
  });
  const config = testDomainsConfig(dns, certificates);
  const { database, server } = useServer((opened) =>
    startServerCopy(opened, undefined, domainRoutes(config)),
  );
  const deps = () => ({ db: database.db, ...testDeps });
  const checkAll = () => checkDomains(deps(), config);

  async function row(id: string): Promise<DomainRow> {
    const { rows } = await sql<DomainRow>`select * from svc.domains where id = ${id}`.execute(database.db);
    return rows[0] as DomainRow;
  }

  async function world() {
    const { as, path: app, ...made } = await lifecycleWorld(database, server);
    const call = (method: string, path: string, body?: unknown, by: keyof typeof made.people = 'owner') =>
      as(by, method, `${app}/domains${path}`, body);
    return {
      ...made,
      call,
      verify: (id: string): Promise<Answer> => call('POST', `/${id}/verify`),
      async add(host: string): Promise<string> {
        const { status, body } = await call('POST', '', { host });
        if (status !== 201) throw new Error(`${host} could not be added: ${JSON.stringify(body)}`);
        return body.id;
      },
    };
  }

  /** Publishes the DNS records of domains, also of several with the same host. */
  async function publish(...ids: string[]): Promise<void> {
    const rows = await Promise.all(ids.map(row));
    for (const { host } of rows) {
      const tokens = rows.filter((other) => other.host === host).map(({ token }) => `svc-verify=${token}`);
      dns.texts.set(`${challengeLabel}.${host}`, tokens);
      dns.routes.set(host, { aliases: [`edge.${testAppsDomain}`] });
    }
  }

  return {
    database,
    dns,
    certificates,
    world,
    row,
    publish,
    checkAll,
    async activeAt(host: string) {
      const made = await world();
      const id = await made.add(host);
      await publish(id);
      const { body } = await made.verify(id);
      if (body.status !== 'active') throw new Error(`${host} is ${body.status}.`);
      return { ...made, id };
    },
    holdersOf: async (host: string) =>
      (await listActiveHosts(database.db)).filter((it) => it.host === host).map(({ appId }) => appId),
    /** Runs the periodic check for this domain alone. */
    async checkByClock(id: string): Promise<DomainRow> {
      await sql`update svc.domains
        set next_check_at = case when id = ${id} then now() end`.execute(database.db);
      await checkAll();
      return row(id);
    },
    /** Moves the domain's times into the past. */
    async pass(id: string, interval: string): Promise<void> {
      await sql`update svc.domains set pending_since = pending_since - ${interval}::interval,
        wrong_since = wrong_since - ${interval}::interval where id = ${id}`.execute(database.db);
    },
    /** Runs the queued loss notifications, each twice; returns how many there were. */
    async notifyLosses(): Promise<number> {
      const { rows } = await sql<{ payload: Record<string, unknown> }>`
        update svc.outbox set done_at = now() where topic = ${lossTopic} and done_at is null
        returning payload`.execute(database.db);
      const effect = notifyLoss(deps);
      for (const { payload } of rows) for (let twice = 0; twice < 2; twice++) await effect(payload);
      return rows.length;
    },
  };
}
