import { sql } from 'kysely';
import { ownerRoutes } from '../apps/owner-routes.ts';
import { appRoutes } from '../apps/routes.ts';
import { newApp } from '../apps/testing.ts';
import type { VisitedSite } from '../edge/visitors.ts';
import { browserOf, copyOfServer, peopleRoutes, testOrigin } from '../identity/testing.ts';
import { createTaggedCache } from '../plumbing/cache.ts';
import type { AppAccess, Caller } from '../plumbing/context.ts';
import type { Db } from '../plumbing/db.ts';
import type { EdgeAnswer, EdgeRequest } from '../plumbing/edge-request.ts';
import { listenForChanges } from '../plumbing/invalidation.ts';
import { newTenant, newUser, silentLog, type TestDatabase } from '../testing.ts';
import { createVisitors, type StandingVisit } from './create-visitors.ts';
import { visitorRoutes } from './routes.ts';
import { createSiteAuth } from './site-auth.ts';

export const places = { baseUrl: testOrigin, appsDomain: 'apps.localhost', httpsPort: 8443 };

/** Custom domains as far as these tests have any. */
export const domains = new Map<string, string>();
const appAtDomain = async (_db: Db, host: string) => domains.get(host) ?? null;

/** One copy of the server, with what visitors need of it. */
export async function visitedCopy(database: TestDatabase, now: () => Date = () => new Date()) {
  const { db, url } = database;
  const changes = listenForChanges({ url, log: silentLog });
  const routes = [
    ...peopleRoutes,
    ...appRoutes,
    ...ownerRoutes,
    ...visitorRoutes({ ...places, appAtDomain }),
  ];
  const api = await copyOfServer(database, now, routes);
  const cache = createTaggedCache<StandingVisit>(changes, { entriesMax: 1_000 });
  const visitors = createVisitors({ ...places, db, now, cache, onCommitted: changes.tell });
  const siteAuth = createSiteAuth({ ...places, db, now, authenticate: api.authenticate, appAtDomain });
  await changes.start();
  const ask = async (headers: Record<string, string>, query: Record<string, string>) => {
    const url = new URL(`${testOrigin}/site-auth?${new URLSearchParams(query)}`);
    const info = {
      requestId: 'test',
      log: silentLog,
      setRoute: () => {},
      clientAddress: '127.0.0.1',
      deadline: new AbortController().signal,
    };
    const response = await siteAuth(new Request(url, { headers }), url, info);
    return {
      status: response.status,
      location: response.headers.get('location') ?? '',
      refresh: response.headers.get('refresh') ?? '',
      text: await response.text(),
    };
  };
  const stop = async () => {
    await changes.stop();
    await api.stop();
  };
  return { api, visitors, ask, stop };
}
export type VisitedCopy = Awaited<ReturnType<typeof visitedCopy>>;

/** A request to a site as a browser makes it when a person opens the address. */
export function visitTo(
  address: string,
  more: { method?: string; headers?: Record<string, string>; cookies?: Record<string, string> } = {},
): EdgeRequest {
  const [, scheme = '', authority = '', path = '', search = ''] =
    /^(https?):\/\/([^/]+)([^?]*)(?:\?(.*))?$/.exec(address) ?? [];
  const cookie = Object.entries(more.cookies ?? {})
    .map(([name, value]) => `${name}=${value}`)
    .join('; ');
  const headers: Record<string, string> = {
    accept: 'text/html,*/*',
    ...(cookie && { cookie }),
    ...more.headers,
  };
  return {
    method: more.method ?? 'GET',
    host: authority.toLowerCase().replace(/:\d+$/, '').replace(/\.$/, ''),
    path: path || '/',
    search,
    header: (name) => headers[name] ?? null,
    scheme: scheme === 'https' ? 'https' : 'http',
    authority,
    requestId: () => 'test-id',
  };
}

export function cookieSet(answer: EdgeAnswer): { name: string; value: string; attributes: string } {
  const [, name = '', value = '', attributes = ''] =
    /^([^=]+)=([^;]*); (.*)$/.exec(answer.headers['set-cookie'] ?? '') ?? [];
  return { name, value, attributes };
}

export const textOf = (answer: EdgeAnswer) =>
  answer.body instanceof Uint8Array ? new TextDecoder().decode(answer.body) : '';

/** An app that shows something, with people around it and their browsers. */
export async function shownApp(database: TestDatabase, visibility: AppAccess['visibility'] = 'public') {
  const { db } = database;
  const { tenant, admin, member } = await newTenant(db);
  const [owner, coOwner, stranger] = [
    await newUser(db, tenant.id),
    await newUser(db, tenant.id),
    await newUser(db, null),
  ];
  const app = await newApp(db, tenant, owner, { visibility, coOwners: [coOwner] });
  const { rows } = await sql<{ subdomain: string }>`
    update svc.apps set runtime = 'running', is_deployed = true where id = ${app.id}
    returning subdomain`.execute(db);
  const subdomain = rows[0]?.subdomain ?? '';
  const origin = `http://${subdomain}.apps.localhost`;
  const staging = `http://${subdomain}--staging.apps.localhost`;
  const siteAt = (hostKind: VisitedSite['hostKind']): VisitedSite => ({
    appId: app.id,
    tenantId: tenant.id,
    hostKind,
  });
  const browser = (person: Caller) => browserOf(database, person);
  const people = { owner, coOwner, admin, member, stranger };
  return { tenant, app, origin, staging, siteAt, site: siteAt('app'), people, browser };
}

export type World = Awaited<ReturnType<typeof shownApp>>;
export const visitName = '__Host-svc_site';
export const stateName = '__Host-svc_site_state';

/** The steps of a person who comes to a site, each as the browser takes it. */
export function walksOf(copy: VisitedCopy) {
  /** Opens the address without a cookie, and follows to the platform as the person who is signed in there. */
  async function setOut(world: World, person: Caller, address = `${world.origin}/`) {
    const away = copy.visitors.turnAway(world.site, visitTo(address));
    const to = new URL(away.headers.location ?? '');
    const sent = await copy.ask(await world.browser(person), Object.fromEntries(to.searchParams));
    return { away, state: cookieSet(away).value, ...sent };
  }

  /** Back at the site; the site's own answer. */
  async function arrive(location: string, cookies: Record<string, string> = {}): Promise<EdgeAnswer> {
    const answer = await copy.visitors.platformPath(null, visitTo(location, { cookies }));
    if (!answer) throw new Error(`There is nothing at ${location}.`);
    return answer;
  }

  /** The cookie of a visit that the person has made in the usual way. */
  async function visitOf(world: World, person: Caller, address?: string): Promise<string> {
    const { location, state } = await setOut(world, person, address);
    return cookieSet(await arrive(location, { [stateName]: state })).value;
  }

  async function sees(world: World, cookie: string, address = `${world.origin}/`): Promise<boolean> {
    const kind = address.includes('--staging') ? 'staging' : 'app';
    return copy.visitors.visitorAt(
      world.siteAt(kind),
      visitTo(address, { cookies: { [visitName]: cookie } }),
    );
  }
  return { setOut, arrive, visitOf, sees };
}
