import { expect } from 'bun:test';
import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import { useFixture } from '../../../../scripts/use-fixture.ts';
import { newOwnedApp } from '../../apps/record/testing.ts';
import type { AppRef } from '../../core/context.ts';
import { signUrlToken, verifyUrlToken } from '../../http/signed-url.ts';
import { callsOf, testOrigin } from '../../identity/provider/testing.ts';
import { testMutation, useTestDatabase } from '../../testing.ts';
import { storageRoutes } from '../routes.ts';
import { startObjectServer, testUrlKey } from '../testing.ts';
import { deleteObject } from './objects.ts';
import { createObjectsHandler } from './objects-handler.ts';
import type { ObjectClaims } from './signed-urls.ts';
import { blobPrefix, deleteAppObjects, deleteUnusedBlob } from './storage.ts';

export const octets = { 'content-type': 'application/octet-stream' };
export const sum = (text: string) => createHash('sha256').update(text).digest('hex');

export function useStorage() {
  const database = useTestDatabase();
  const server = useFixture(
    () =>
      startObjectServer(database, {
        routes: () => storageRoutes({ baseUrl: testOrigin, urlKey: testUrlKey }),
        handler: createObjectsHandler,
      }),
    (it) => it.stop(),
  );

  /** A private app with storage. Calls are the owner's by default. */
  async function newStorageApp() {
    const { tenant, admin, owner, coOwner, app } = await newOwnedApp(database.db);
    const ref = { tenantId: tenant.id, appId: app.id };
    const as = callsOf(database, server, { owner, coOwner });
    const path = `/api/v1/tenants/${tenant.slug}/apps/${app.slug}/storage`;
    type Who = Parameters<typeof as>[0];
    const call = (method: string, below: string, body?: unknown, by: Who = 'owner') =>
      as(by, method, `${path}${below}`, body);
    expect((await call('POST', '/enable')).status).toBe(200);
    const sign = async (body: { key: string; content_type?: string; size?: number }, by?: Who) => {
      const { status, body: answer } = await call('POST', '/upload-url', body, by);
      expect([status, answer]).toEqual([200, answer]);
      return answer.put_url as string;
    };
    const put = async (key: string, body: string, type = 'text/plain') =>
      upload(await sign({ key, content_type: type }), body, { 'content-type': type });
    const urlOf = async (key: string, by?: Who) =>
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

export function resign(url: string, change: (claims: ObjectClaims) => object, key = testUrlKey): string {
  const [start, token = '', name] = [url.slice(0, url.indexOf('/objects/') + 9), ...url.split('/').slice(-2)];
  const claims = verifyUrlToken<ObjectClaims>(testUrlKey, token, new Date(0));
  if (claims === null || claims === 'expired') throw new Error('invalid token');
  return `${start}${signUrlToken(key, { ...claims, ...change(claims) })}/${name}`;
}
