import { sql } from 'kysely';
import { newOwnedApp } from '../../apps/record/testing.ts';
import { appRoutes } from '../../apps/routes.ts';
import { createTaggedCache } from '../../core/cache.ts';
import type { AppAccess, Caller } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { listenForChanges } from '../../core/invalidation.ts';
import type { EdgeRequest, EdgeResponse } from '../../http/edge-request.ts';
import {
  browserHeaders,
  peopleRoutes,
  startServerCopy,
  testOrigin,
  useServer,
} from '../../identity/provider/testing.ts';
import { newUser, silentLog, type TestDatabase, testRequestInfo } from '../../testing.ts';
import { visitorRoutes } from '../module.ts';
import { testRequest } from '../sites/testing.ts';
import { createSiteAuth } from './site-auth.ts';
import { type ActiveVisit, createVisitors, type VisitedSite } from './visitors.ts';

export const config = { baseUrl: testOrigin, appsDomain: 'apps.localhost', httpsPort: 8443 };

/** App ids by custom domain. */
export const domains = new Map<string, string>();
const findAppAtDomain = async (_db: Db, host: string) => domains.get(host) ?? null;

/** One copy of the server with its visitors. */
export async function startVisitorServer(database: TestDatabase, now: () => Date = () => new Date()) {
  const { db, url } = database;
  const changes = listenForChanges({ url, log: silentLog });
  const routes = [...peopleRoutes, ...appRoutes, ...visitorRoutes({ ...config, findAppAtDomain })];
  const api = await startServerCopy(database, now, routes);
  const cache = createTaggedCache<ActiveVisit>(changes, { entriesMax: 1_000 });
  const visitors = createVisitors({ ...config, db, now, cache, onCommitted: changes.notify });
  const siteAuth = createSiteAuth({ ...config, db, now, authenticate: api.authenticate, findAppAtDomain });
  await changes.start();
  return {
    api,
    visitors,
    async ask(headers: Record<string, string>, query: Record<string, string>) {
      const url = new URL(`${testOrigin}/site-auth?${new URLSearchParams(query)}`);
      const response = await siteAuth(new Request(url, { headers }), url, testRequestInfo);
      const header = (name: string) => response.headers.get(name) ?? '';
      const [location, refresh] = [header('location'), header('refresh')];
      return { status: response.status, location, refresh, text: await response.text() };
    },
    stop: () => changes.stop().then(api.stop),
  };
}
export type VisitorServer = Awaited<ReturnType<typeof startVisitorServer>>;

/** A request as a browser sends it for a page navigation. */
export function siteRequest(
  address: string,
  more: { method?: string; headers?: Record<string, string>; cookies?: Record<string, string> } = {},
): EdgeRequest {
  const [, scheme = '', authority = '', path = '', search = ''] =
    /^(https?):\/\/([^/]+)([^?]*)(?:\?(.*))?$/.exec(address) ?? [];
  const cookies = Object.entries(more.cookies ?? {}).map(([name, value]) => `${name}=${value}`);
  const sent: Record<string, string> = cookies.length > 0 ? { cookie: cookies.join('; ') } : {};
  return testRequest(`${path || '/'}?${search}`, {
    method: more.method ?? 'GET',
    host: authority.toLowerCase().replace(/:\d+$/, '').replace(/\.$/, ''),
    scheme: scheme === 'https' ? 'https' : 'http',
    authority,
    headers: { accept: 'text/html,*/*', ...sent, ...more.headers },
  });
}

export function cookieSet({ headers }: EdgeResponse) {
  const found = /^(?<name>[^=]+)=(?<value>[^;]*); (?<attributes>.*)$/.exec(headers['set-cookie'] ?? '');
  return { name: '', value: '', attributes: '', ...found?.groups };
}

export const textOf = ({ body }: EdgeResponse) =>
  body instanceof Uint8Array ? new TextDecoder().decode(body) : '';

/** A running app with people and their browsers. */
export async function newVisitedApp(database: TestDatabase, visibility: AppAccess['visibility'] = 'public') {
  const { db } = database;
  const { tenant, admin, member, owner, coOwner, app } = await newOwnedApp(db, { visibility });
  const people = { owner, coOwner, admin, member, stranger: await newUser(db, null) };
  const { rows } = await sql<{ subdomain: string }>`
    update svc.apps set runtime = 'running', is_deployed = true where id = ${app.id}
    returning subdomain`.execute(db);
  const site = { appId: app.id, tenantId: tenant.id };
  return {
    tenant,
    app,
    people,
    origin: `http://${rows[0]?.subdomain}.apps.localhost`,
    staging: `http://${rows[0]?.subdomain}--staging.apps.localhost`,
    site: { ...site, hostKind: 'app' as const },
    siteAt: (hostKind: VisitedSite['hostKind']): VisitedSite => ({ ...site, hostKind }),
    browser: (person: Caller) => browserHeaders(database, person),
  };
}

export type World = Awaited<ReturnType<typeof newVisitedApp>>;
export const visitName = '__Host-svc_site';
export const stateName = '__Host-svc_site_state';

export function visitSteps(copy: VisitorServer) {
  /** Opens the URL without a cookie and follows the redirect to the platform as the signed-in person. */
  async function setOut(world: World, person: Caller, address = `${world.origin}/`) {
    const away = copy.visitors.redirectToSignIn(world.site, siteRequest(address));
    const to = new URL(away.headers.location ?? '');
    const sent = await copy.ask(await world.browser(person), Object.fromEntries(to.searchParams));
    return { away, state: cookieSet(away).value, ...sent };
  }

  async function arrive(location: string, cookies: Record<string, string> = {}): Promise<EdgeResponse> {
    const answer = await copy.visitors.platformPath(null, siteRequest(location, { cookies }));
    if (!answer) throw new Error(`There is nothing at ${location}.`);
    return answer;
  }

  async function visitOf(world: World, person: Caller, address?: string): Promise<string> {
    const { location, state } = await setOut(world, person, address);
    return cookieSet(await arrive(location, { [stateName]: state })).value;
  }

  async function sees(world: World, cookie: string, address = `${world.origin}/`): Promise<boolean> {
    const kind = address.includes('--staging') ? 'staging' : 'app';
    const request = siteRequest(address, { cookies: { [visitName]: cookie } });
    return copy.visitors.isVisitor(world.siteAt(kind), request);
  }
  return { setOut, arrive, visitOf, sees };
}

/** A database and two copies of the server for one test file. `clock` moves the time of the first copy. */
export function useVisitors() {
  const [one, other] = [{} as VisitorServer, {} as VisitorServer];
  const clock = { skewMs: 0 };
  const { database } = useServer(async (opened) => {
    Object.assign(one, await startVisitorServer(opened, () => new Date(Date.now() + clock.skewMs)));
    Object.assign(other, await startVisitorServer(opened));
    return { ...one.api, stop: () => one.stop().then(other.stop) };
  });
  return { database, one, other, clock, walk: visitSteps(one) };
}
