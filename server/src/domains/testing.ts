import { challengeLabel } from '@svc/contract/domains.ts';
import { sql } from 'kysely';
import { findApp } from '../apps/find-app.ts';
import { newApp } from '../apps/testing.ts';
import type { CaaRecord, Dns, DnsTrouble } from '../drivers/dns/dns.ts';
import { createApi } from '../plumbing/api.ts';
import type { AppAccess, Caller, TenantAccess } from '../plumbing/context.ts';
import { rowsOnly } from '../plumbing/outbox-rows.ts';
import { Failure, problemResponse } from '../plumbing/problem.ts';
import { newTenant, newUser, silentLog, type TestDatabase } from '../testing.ts';
import { checkDomains } from './check-domains.ts';
import { type DomainCertificates, noCertificates } from './domain-certificates.ts';
import { type DomainsPlace, openDomainsPlace } from './domains-place.ts';
import { listActiveHosts } from './list-active-hosts.ts';
import { domainRoutes } from './routes.ts';
import type { DomainRow } from './store.ts';
import { tellLoss } from './tell-loss.ts';

/** What a DNS would say, by name; the real one has tests of its own. */
export interface MemoryDns extends Dns {
  texts: Map<string, string[]>;
  routes: Map<string, { aliases?: string[]; addresses?: string[] }>;
  caa: CaaRecord[] | null;
  /** While it is set, nobody answers. */
  trouble: DnsTrouble | null;
  /** The same for texts alone. */
  textTrouble: DnsTrouble | null;
  questions: number;
  /** Awaited between reading the texts at a name and telling them. */
  afterRead: (name: string) => Promise<void>;
}

export function memoryDns(): MemoryDns {
  const dns: MemoryDns = {
    ...{ texts: new Map(), routes: new Map(), caa: null, trouble: null, textTrouble: null, questions: 0 },
    afterRead: async () => {},
    look: () => ({
      txt: async (name) => {
        const found = answered(dns, dns.texts.get(name), dns.textTrouble ?? dns.trouble);
        await dns.afterRead(name);
        return found;
      },
      caa: async () => answered(dns, dns.caa ?? undefined),
      route: async (name) => {
        const { aliases = [], addresses } = dns.trouble ? {} : (dns.routes.get(name) ?? {});
        return { aliases, addresses: answered(dns, addresses ?? (aliases.length > 0 ? [] : undefined)) };
      },
    }),
  };
  return dns;
}

/** What is read next is told only once it is let through. */
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

function answered<T>(dns: MemoryDns, values: readonly T[] | undefined, trouble = dns.trouble) {
  dns.questions++;
  if (trouble) return { kind: 'unknown', because: trouble } as const;
  return values ? ({ kind: 'found', values } as const) : ({ kind: 'none', because: 'no_name' } as const);
}

export interface Answer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of all shapes.
  body: any;
}

export interface DomainWorld {
  tenant: TenantAccess;
  people: Record<'owner' | 'coOwner' | 'admin' | 'member', Caller>;
  app: AppAccess;
  place: DomainsPlace;
  /** Below the app's `domains`, as the owner unless somebody else is named. */
  call(method: string, path: string, body?: unknown, by?: Caller): Promise<Answer>;
  /** Attached and waiting. */
  add(host: string): Promise<string>;
  row(id: string): Promise<DomainRow>;
}

export const testAppsDomain = 'apps.platform.example';

export function testPlace(dns: Dns, certificates: DomainCertificates = noCertificates): DomainsPlace {
  return openDomainsPlace({
    ...{ dns, certificates, baseUrl: 'http://svc.platform.example:4400', appsDomain: testAppsDomain },
    secureOrigin: ({ host, hasCertificate }) => (hasCertificate ? `https://${host}` : null),
    ...{ host: '0.0.0.0', edgeAddresses: ['192.0.2.10', '2001:db8::10'], caaId: 'ca.example' },
  });
}

/** An app of the test's own. */
export async function domainWorld(database: TestDatabase, place: DomainsPlace): Promise<DomainWorld> {
  const { db } = database;
  const { tenant, admin, member } = await newTenant(db);
  const [owner, coOwner] = [await newUser(db, tenant.id), await newUser(db, tenant.id)];
  const app = await newApp(db, tenant, owner, { coOwners: [coOwner] });

  const call: DomainWorld['call'] = async (method, path, body, by = owner) => {
    const role: TenantAccess['role'] = by === admin ? 'tenant_admin' : 'tenant_member';
    const api = createApi(
      {
        ...{ db, outbox: rowsOnly, now: () => new Date(), rows: database.rows, checkAnswers: true },
        authenticate: async () => by,
        tenantAccess: async () => ({ ...tenant, role }),
        appAccess: (access, ref) => findApp(db, access, { ref, caller: by }),
      },
      domainRoutes(place),
    );
    const url = `http://svc.example.test/api/v1/tenants/${tenant.slug}/apps/${app.slug}/domains${path}`;
    const request = new Request(url, {
      method,
      ...(body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    });
    const response = await api(request, new URL(request.url), {
      ...{ requestId: 'test', log: silentLog, setRoute: () => {}, clientAddress: '127.0.0.1' },
      deadline: new AbortController().signal,
    }).catch((error: unknown) => {
      if (error instanceof Failure) return problemResponse(error, 'test');
      throw error;
    });
    const text = await response.text();
    return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
  };
  return {
    ...{ tenant, people: { owner, coOwner, admin, member }, app, place, call },
    add: async (host) => {
      const { status, body } = await call('POST', '', { host });
      if (status !== 201) throw new Error(`${host} could not be added: ${JSON.stringify(body)}`);
      return body.id;
    },
    row: async (id) => {
      const { rows } = await sql<DomainRow>`select * from svc.domains where id = ${id}`.execute(db);
      if (!rows[0]) throw new Error(`There is no domain ${id}.`);
      return rows[0];
    },
  };
}

/** All that has to be published for one or more that wait for the same host. */
export async function publish(dns: MemoryDns, ...rows: Pick<DomainRow, 'host' | 'token'>[]): Promise<void> {
  for (const { host } of rows) {
    const tokens = rows.filter((row) => row.host === host).map(({ token }) => `svc-verify=${token}`);
    dns.texts.set(`${challengeLabel}.${host}`, tokens);
    dns.routes.set(host, { aliases: [`edge.${testAppsDomain}`] });
  }
}

/** As the clock does, with this one due. How it is afterwards. */
export async function checkByClock(
  { db }: TestDatabase,
  { place, row }: DomainWorld,
  id: string,
): Promise<DomainRow> {
  await sql`update svc.domains set next_check_at = null where id <> ${id}`.execute(db);
  await sql`update svc.domains set next_check_at = now() where id = ${id}`.execute(db);
  await checkDomains({ db, outbox: rowsOnly, log: silentLog }, place);
  return row(id);
}

/** The domain's times are moved into the past by this much. */
export async function pass({ db }: TestDatabase, id: string, interval: string): Promise<void> {
  await sql`update svc.domains set pending_since = pending_since - ${interval}::interval,
    wrong_since = wrong_since - ${interval}::interval where id = ${id}`.execute(db);
}

/** Carries out what tells those who lost a host; how many times it was queued. */
export async function tellLosses({ db }: TestDatabase): Promise<number> {
  const { rows } = await sql<{ payload: Record<string, unknown> }>`
    update svc.outbox set done_at = now() where topic = 'domains.tellLoss' and done_at is null
    returning payload`.execute(db);
  const effect = tellLoss(() => ({ db, outbox: rowsOnly, log: silentLog }));
  for (const { payload } of rows) for (let twice = 0; twice < 2; twice++) await effect(payload);
  return rows.length;
}

export const newHost = () => `www.h${Bun.randomUUIDv7().replaceAll('-', '').slice(-16)}.example`;

/** The apps that have the host. */
export async function holdersIn({ db }: TestDatabase, host: string): Promise<string[]> {
  return (await listActiveHosts(db)).filter((it) => it.host === host).map(({ appId }) => appId);
}

/** One that is active. */
export async function activeDomain(
  database: TestDatabase,
  dns: MemoryDns,
  host: string,
): Promise<DomainWorld & { id: string }> {
  const made = await domainWorld(database, testPlace(dns));
  const id = await made.add(host);
  await publish(dns, await made.row(id));
  const { body } = await made.call('POST', `/${id}/verify`);
  if (body.status !== 'active') throw new Error(`${host} is ${body.status}.`);
  return { ...made, id };
}
