import { newOwnedApp } from '../../apps/record/testing.ts';
import { appRoutes } from '../../apps/routes.ts';
import type { AppAccess } from '../../core/context.ts';
import { sha256 } from '../../core/values.ts';
import { startObjectServer, testUrlKey } from '../../data/testing.ts';
import type { ObjectStore } from '../../drivers/object-store/object-store.ts';
import type { Route } from '../../http/router.ts';
import { type Answer, callsOf, peopleRoutes, testOrigin } from '../../identity/provider/testing.ts';
import { newUser, type TestDatabase } from '../../testing.ts';
import { isUnderReview } from '../review/requests.ts';
import { staticSiteRoutes } from '../routes.ts';
import { useEnv } from '../testing.ts';
import { createUploadsHandler } from './uploads.ts';

export const testSiteDeps = { baseUrl: testOrigin, appsDomain: 'apps.example.test', urlKey: testUrlKey };

type SiteServer = Awaited<ReturnType<typeof startSiteServer>>;
export type SiteEnv = Awaited<ReturnType<typeof newSiteEnv>>;
export type Who = keyof SiteEnv['people'];
export type Files = Readonly<Record<string, string>>;

interface SiteServerOptions {
  wrap?: (objects: ObjectStore) => ObjectStore;
  routes?: (database: TestDatabase) => readonly Route[];
}

const startSiteServer = (database: TestDatabase, { wrap, routes }: SiteServerOptions) =>
  startObjectServer(database, {
    wrap,
    handler: createUploadsHandler,
    routes: (objects) => [
      ...peopleRoutes,
      ...appRoutes,
      ...staticSiteRoutes({ ...testSiteDeps, objects, isUnderReview }),
      ...(routes?.(database) ?? []),
    ],
  });

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
  const { tenant, admin, member, owner, coOwner, app } = await newOwnedApp(db, { ...set });
  const people = { owner, coOwner, admin, otherAdmin: await newUser(db, tenant.id, 'tenant_admin'), member };
  const as = callsOf(database, server, people);
  const ofApp = (method: string, path: string, body?: unknown, who: keyof typeof people = 'owner') =>
    as(who, method, `/api/v1/tenants/${tenant.slug}/apps/${app.id}${path}`, body);
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
    as,
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
