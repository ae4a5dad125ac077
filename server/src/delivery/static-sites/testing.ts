import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newApp } from '../../apps/record/testing.ts';
import { appRoutes } from '../../apps/routes.ts';
import { createTaggedCache } from '../../core/cache.ts';
import type { AppAccess } from '../../core/context.ts';
import { listenForChanges } from '../../core/invalidation.ts';
import { fixedKey } from '../../core/keys.ts';
import { sha256 } from '../../core/values.ts';
import { createIssuerAccess } from '../../data/storage/signed-urls.ts';
import { respond } from '../../data/testing.ts';
import { openFileStore } from '../../drivers/object-store/file-store.ts';
import type { ObjectStore } from '../../drivers/object-store/object-store.ts';
import type { Route } from '../../http/router.ts';
import {
  type Answer,
  loginHeaders,
  peopleRoutes,
  startServerCopy,
  testOrigin,
} from '../../identity/provider/testing.ts';
import { newTenant, newUser, silentLog, type TestDatabase } from '../../testing.ts';
import { isUnderReview } from '../review/requests.ts';
import { staticSiteRoutes } from '../routes.ts';
import { useEnv } from '../testing.ts';
import { createUploadsHandler } from './uploads.ts';

export const testUrlKey = fixedKey('a key for tests');
export const testSiteDeps = { baseUrl: testOrigin, appsDomain: 'apps.example.test', urlKey: testUrlKey };

type SiteServer = Awaited<ReturnType<typeof startSiteServer>>;
export type SiteEnv = Awaited<ReturnType<typeof newSiteEnv>>;
export type Who = keyof SiteEnv['people'];
export type Files = Readonly<Record<string, string>>;

interface SiteServerOptions {
  wrap?: (objects: ObjectStore) => ObjectStore;
  routes?: (database: TestDatabase) => readonly Route[];
}

async function startSiteServer(database: TestDatabase, { wrap, routes }: SiteServerOptions) {
  const folder = mkdtempSync(join(tmpdir(), 'svc-sites-'));
  const files = openFileStore(folder);
  const objects = wrap?.(files) ?? files;
  const server = await startServerCopy(database, undefined, [
    ...peopleRoutes,
    ...appRoutes,
    ...staticSiteRoutes({ ...testSiteDeps, objects, isUnderReview }),
    ...(routes?.(database) ?? []),
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
  return {
    ...server,
    objects,
    use: (url: string, init?: RequestInit) => respond(handle, new Request(url, init)),
    setNow: (now: Date | null) => {
      fixed = now;
    },
    stop: async () => {
      await changes.stop();
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export function useSiteServer(options: SiteServerOptions = {}) {
  const { database, env: server } = useEnv((opened) => startSiteServer(opened, options));
  return { database, server };
}

export const listed = (files: Files) =>
  Object.entries(files).map(([path, text]) => ({
    path,
    sha256: sha256(text),
    size: Buffer.byteLength(text),
  }));

export async function newSiteEnv(
  database: TestDatabase,
  server: SiteServer,
  set: { visibility?: AppAccess['visibility'] } = {},
) {
  const { db } = database;
  const { tenant, admin, member } = await newTenant(db);
  const [owner, coOwner] = [await newUser(db, tenant.id), await newUser(db, tenant.id)];
  const people = { owner, coOwner, admin, otherAdmin: await newUser(db, tenant.id, 'tenant_admin'), member };
  const app = await newApp(db, tenant, owner, { ...set, coOwners: [coOwner] });
  const logins = new Map<string, Promise<{ authorization: string }>>();
  const ofApp = async (method: string, path: string, body?: unknown, who: keyof typeof people = 'owner') => {
    const login = logins.get(who) ?? loginHeaders(database, people[who]);
    logins.set(who, login);
    return server.call(await login, method, `/api/v1/tenants/${tenant.slug}/apps/${app.id}${path}`, body);
  };
  const call = (method: string, path: string, body?: unknown, who?: keyof typeof people) =>
    ofApp(method, `/static${path}`, body, who);
  const create = (files: Files, more: Record<string, unknown> = {}) =>
    call('POST', '/releases', { files: listed(files), ...more });
  /** Uploads the missing files and returns the status of each upload. */
  const send = async ({ body }: Answer, files: Files): Promise<number[]> => {
    const byDigest = new Map(Object.values(files).map((text) => [sha256(text), text]));
    const uploads = body.missing.map((digest: string) =>
      server.use(`${body.upload_url}${digest}`, { method: 'PUT', body: byDigest.get(digest) ?? '' }),
    );
    return (await Promise.all(uploads)).map(({ status }) => status);
  };
  return {
    tenant,
    app,
    ref: { tenantId: tenant.id, appId: app.id },
    people,
    call,
    ofApp,
    create,
    send,
    move: (release: string, move: string, who?: keyof typeof people, body?: unknown) =>
      call('POST', `/releases/${release}/${move}`, body, who),
    async release(files: Files, more: Record<string, unknown> = {}): Promise<string> {
      const draft = await create(files, more);
      if (draft.status >= 300) throw new Error(`POST releases: ${JSON.stringify(draft.body)}`);
      await send(draft, files);
      const { status, body } = await call('POST', `/releases/${draft.body.id}/finalize`);
      if (status !== 200) throw new Error(`POST finalize: ${JSON.stringify(body)}`);
      return draft.body.id;
    },
  };
}
