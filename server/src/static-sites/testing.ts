import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { appLifeRoutes } from '../apps/life-routes.ts';
import { appRoutes } from '../apps/routes.ts';
import { newApp } from '../apps/testing.ts';
import { openFileStore } from '../drivers/object-store/file-store.ts';
import type { ObjectStore } from '../drivers/object-store/object-store.ts';
import {
  type Answer,
  copyOfServer,
  loginOf,
  peopleRoutes,
  type ServerCopy,
  testOrigin,
} from '../identity/testing.ts';
import { createTaggedCache } from '../plumbing/cache.ts';
import { sha256 } from '../plumbing/canonical.ts';
import type { AppAccess, Caller, TenantAccess } from '../plumbing/context.ts';
import { listenForChanges } from '../plumbing/invalidation.ts';
import { Failure, problemResponse } from '../plumbing/problem.ts';
import type { Route } from '../plumbing/route.ts';
import { createIssuerAccess } from '../storage/issuer-access.ts';
import { newTenant, newUser, silentLog, type TestDatabase } from '../testing.ts';
import { staticSiteRoutes } from './routes.ts';
import type { AppPlace } from './site-store.ts';
import { createUploadsHandler } from './uploads-handler.ts';

export const testUrlKey = 'a key for tests';
export const testPlaces = { baseUrl: testOrigin, appsDomain: 'apps.example.test', urlKey: testUrlKey };

export interface SitesCopy extends ServerCopy {
  objects: ObjectStore;
  /** Uses a signed address, as anybody could who has it. */
  use(url: string, init?: RequestInit): Promise<Response>;
  /** What the clock of signed addresses says, from now on. */
  setNow(now: Date | null): void;
}

/** One copy of the server with static sites, their files in a folder of the test's own. */
export async function copyWithSites(
  database: TestDatabase,
  wrap: (objects: ObjectStore) => ObjectStore = (objects) => objects,
  more: readonly Route[] = [],
): Promise<SitesCopy> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-sites-'));
  const objects = wrap(openFileStore(folder));
  const copy = await copyOfServer(database, undefined, [
    ...peopleRoutes,
    ...appRoutes,
    ...appLifeRoutes({ runtime: { kind: 'process' } }),
    ...staticSiteRoutes({ ...testPlaces, objects }),
    ...more,
  ]);
  const changes = listenForChanges({ url: database.url, log: silentLog });
  await changes.start();
  const { db } = database;
  let fixed: Date | null = null;
  const handle = createUploadsHandler({
    db,
    objects,
    urlKey: testUrlKey,
    now: () => fixed ?? new Date(),
    issuerAccess: createIssuerAccess({ db, cache: createTaggedCache(changes, { entriesMax: 100 }) }),
  });
  const info = {
    requestId: 'test',
    log: silentLog,
    setRoute: () => {},
    clientAddress: '127.0.0.1',
    deadline: new AbortController().signal,
  };
  return {
    ...copy,
    objects,
    use: (url, init) =>
      handle(new Request(url, init), new URL(url), info).catch((error: unknown) => {
        if (error instanceof Failure) return problemResponse(error, 'test');
        throw error;
      }),
    setNow: (now) => {
      fixed = now;
    },
    stop: async () => {
      await changes.stop();
      await copy.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export type Who = 'owner' | 'coOwner' | 'admin' | 'otherAdmin' | 'member';
export type Files = Readonly<Record<string, string>>;

export interface SiteWorld {
  tenant: TenantAccess;
  app: AppAccess;
  place: AppPlace;
  people: Record<Who, Caller>;
  /** Below `/api/v1/tenants/<tenant>/apps/<app>/static`, as the owner unless somebody else is named. */
  call(method: string, path: string, body?: unknown, who?: Who): Promise<Answer>;
  /** Below `/api/v1/tenants/<tenant>/apps/<app>`. */
  ofApp(method: string, path: string, body?: unknown, who?: Who): Promise<Answer>;
  /** A move of a release by its name, `activate` and so on. */
  move(release: string, move: string, who?: Who, body?: unknown): Promise<Answer>;
  create(files: Files, more?: Record<string, unknown>): Promise<Answer>;
  /** Sends what is missing of a draft. */
  send(draft: Answer, files: Files): Promise<number[]>;
  /** A finalized release of these files; its id. */
  release(files: Files, more?: Record<string, unknown>): Promise<string>;
}

export const listed = (files: Files) =>
  Object.entries(files).map(([path, text]) => ({
    path,
    sha256: sha256(text),
    size: Buffer.byteLength(text),
  }));

/** An app with an owner and a co-owner, and the tenant's two admins and a member beside them. */
export async function siteWorld(
  database: TestDatabase,
  server: SitesCopy,
  set: { visibility?: AppAccess['visibility'] } = {},
): Promise<SiteWorld> {
  const { db } = database;
  const { tenant, admin, member } = await newTenant(db);
  const [owner, coOwner] = [await newUser(db, tenant.id), await newUser(db, tenant.id)];
  const otherAdmin = await newUser(db, tenant.id, 'tenant_admin');
  const people = { owner, coOwner, admin, otherAdmin, member };
  const app = await newApp(db, tenant, owner, { ...set, coOwners: [coOwner] });
  const logins = new Map<Who, Promise<{ authorization: string }>>();
  const base = `/api/v1/tenants/${tenant.slug}/apps/${app.id}`;
  const ofApp: SiteWorld['ofApp'] = async (method, path, body, who = 'owner') => {
    const login = logins.get(who) ?? loginOf(database, people[who]);
    logins.set(who, login);
    return server.call(await login, method, `${base}${path}`, body);
  };
  const call: SiteWorld['call'] = (method, path, body, who) => ofApp(method, `/static${path}`, body, who);
  const create: SiteWorld['create'] = (files, more = {}) =>
    call('POST', '/releases', { files: listed(files), ...more });
  const send: SiteWorld['send'] = async ({ body }, files) => {
    const byName = new Map(Object.values(files).map((text) => [sha256(text), text]));
    const sums: string[] = body.missing;
    return Promise.all(
      sums.map(async (sum) => {
        const sent = await server.use(`${body.upload_url}${sum}`, {
          method: 'PUT',
          body: byName.get(sum) ?? '',
        });
        return sent.status;
      }),
    );
  };
  return {
    tenant,
    app,
    place: { tenantId: tenant.id, appId: app.id },
    people,
    call,
    ofApp,
    create,
    send,
    move: (release, move, who, body) => call('POST', `/releases/${release}/${move}`, body, who),
    async release(files, more = {}) {
      const draft = await create(files, more);
      if (draft.status >= 300) throw new Error(`No draft was made: ${JSON.stringify(draft.body)}`);
      await send(draft, files);
      const { status, body } = await call('POST', `/releases/${draft.body.id}/finalize`);
      if (status !== 200) throw new Error(`It was not finalized: ${JSON.stringify(body)}`);
      return draft.body.id;
    },
  };
}
