import { afterAll, beforeAll, expect } from 'bun:test';
import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import { newApp } from '../../apps/record/testing.ts';
import { createTaggedCache } from '../../core/cache.ts';
import type { AppRef } from '../../core/context.ts';
import { listenForChanges } from '../../core/invalidation.ts';
import { fixedKey } from '../../core/keys.ts';
import { rowsOnlyOutbox } from '../../core/outbox-worker.ts';
import { temporaryFolder } from '../../drivers/database/testing.ts';
import { openFileStore } from '../../drivers/object-store/file-store.ts';
import { signUrlToken, verifyUrlToken } from '../../http/signed-url.ts';
import { loginHeaders, startServerCopy, testOrigin } from '../../identity/provider/testing.ts';
import {
  newTenant,
  newUser,
  silentLog,
  type TestDatabase,
  testEvents,
  testMutation,
  useTestDatabase,
} from '../../testing.ts';
import { storageRoutes } from '../routes.ts';
import { respond } from '../testing.ts';
import { deleteObject } from './objects.ts';
import { createObjectsHandler } from './objects-handler.ts';
import { createIssuerAccess, type ObjectClaims } from './signed-urls.ts';
import { blobPrefix, deleteAppObjects, deleteUnusedBlob } from './storage.ts';

const testUrlKey = fixedKey('a key for tests');
export const octets = { 'content-type': 'application/octet-stream' };
export const sum = (text: string) => createHash('sha256').update(text).digest('hex');

type StorageServer = Awaited<ReturnType<typeof startStorageServer>>;

async function startStorageServer(database: TestDatabase) {
  const folder = temporaryFolder();
  const objects = openFileStore(folder.path);
  const routes = storageRoutes({ baseUrl: testOrigin, urlKey: testUrlKey });
  const server = await startServerCopy(database, undefined, routes);
  const invalidation = listenForChanges({ url: database.url, log: silentLog });
  await invalidation.start();
  const { db } = database;
  const clock = { fixed: null as Date | null };
  const handle = createObjectsHandler({
    db,
    objects,
    outbox: rowsOnlyOutbox,
    events: testEvents,
    urlKey: testUrlKey,
    now: () => clock.fixed ?? new Date(),
    issuerAccess: createIssuerAccess({ db, cache: createTaggedCache(invalidation, { entriesMax: 100 }) }),
  });
  return {
    ...server,
    objects,
    use: (url: string, init?: RequestInit) => respond(handle, new Request(url, init)),
    clock,
    stop: async () => {
      await invalidation.stop();
      await server.stop();
      await folder.remove();
    },
  };
}

/** A server with storage for one test file. */
export function useStorage() {
  const database = useTestDatabase();
  const server = {} as StorageServer;
  beforeAll(async () => {
    Object.assign(server, await startStorageServer(database));
  });
  afterAll(() => server.stop());

  /** A private app with storage. Calls are the owner's by default. */
  async function newStorageApp() {
    const { tenant, admin } = await newTenant(database.db);
    const [owner, coOwner] = [await newUser(database.db, tenant.id), await newUser(database.db, tenant.id)];
    const app = await newApp(database.db, tenant, owner, { coOwners: [coOwner] });
    const ref = { tenantId: tenant.id, appId: app.id };
    const logins = {
      owner: await loginHeaders(database, owner),
      coOwner: await loginHeaders(database, coOwner),
    };
    const path = `/api/v1/tenants/${tenant.slug}/apps/${app.slug}/storage`;
    const call = (method: string, below: string, body?: unknown, by: keyof typeof logins = 'owner') =>
      server.call(logins[by], method, `${path}${below}`, body);
    expect((await call('POST', '/enable')).status).toBe(200);
    const sign = async (
      body: { key: string; content_type?: string; size?: number },
      by?: keyof typeof logins,
    ) => {
      const { status, body: answer } = await call('POST', '/upload-url', body, by);
      expect([status, answer]).toEqual([200, answer]);
      return answer.put_url as string;
    };
    const put = async (key: string, body: string, type = 'text/plain') =>
      upload(await sign({ key, content_type: type }), body, { 'content-type': type });
    const urlOf = async (key: string, by?: keyof typeof logins) =>
      (await call('GET', `/url?key=${encodeURIComponent(key)}`, undefined, by)).body.url as string;
    const keys = async () =>
      (await call('GET', '/objects')).body.items.map(({ key }: { key: string }) => key) as string[];
    // Not over HTTP: the test server's outbox drops effects.
    const remove = (key: string) =>
      testMutation(database.db, owner, (ctx) => deleteObject(ctx, { key }), { context: { tenant, app } });
    return { tenant, admin, owner, coOwner, app, ref, call, sign, put, urlOf, keys, remove };
  }

  const upload = (url: string, body: BodyInit, headers: Record<string, string> = octets) =>
    server.use(url, { method: 'PUT', body, headers });

  async function blobs(ref: AppRef): Promise<string[]> {
    const found: string[] = [];
    for await (const { key } of server.objects.list(blobPrefix(ref))) found.push(key);
    return found;
  }

  async function openUploads({ appId }: { appId: string }): Promise<number> {
    const { rows } = await sql`select 1 from svc.storage_uploads where app_id = ${appId}`.execute(
      database.db,
    );
    return rows.length;
  }

  /** Runs the queued outbox effects. */
  async function runEffects({ appId }: { appId: string }): Promise<void> {
    const { rows } = await sql<{ topic: string; payload: Record<string, unknown> }>`
      select topic, payload from svc.outbox where payload->>'appId' = ${appId}`.execute(database.db);
    const effects = {
      'storage.discardBlob': deleteUnusedBlob({ db: database.db, objects: server.objects }),
      'storage.discardApp': deleteAppObjects({ db: database.db, objects: server.objects }),
    };
    for (const { topic, payload } of rows) await effects[topic as keyof typeof effects](payload);
  }

  return { database, server, newStorageApp, upload, blobs, openUploads, runEffects };
}

export async function codeOf(answer: Promise<Response>): Promise<string> {
  const response = await answer;
  if (response.status < 400) return String(response.status);
  return ((await response.json()) as { code: string }).code;
}

/** The URL with changed claims, signed again. */
export function resign(url: string, change: (claims: ObjectClaims) => object, key = testUrlKey): string {
  const [start, token = '', name] = [url.slice(0, url.indexOf('/objects/') + 9), ...url.split('/').slice(-2)];
  const claims = verifyUrlToken<ObjectClaims>(testUrlKey, token, new Date(0));
  if (claims === null || claims === 'expired') throw new Error('invalid token');
  return `${start}${signUrlToken(key, { ...claims, ...change(claims) })}/${name}`;
}
