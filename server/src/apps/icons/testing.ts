import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { useFixture } from '../../../../scripts/use-fixture.ts';
import type { Caller } from '../../core/context.ts';
import { fixedKey } from '../../core/keys.ts';
import { Failure, problemResponse } from '../../core/problem.ts';
import { openFileStore } from '../../drivers/object-store/file-store.ts';
import { testDeps, testRequestInfo, useTestDatabase } from '../../testing.ts';
import { newOwnedApp } from '../record/testing.ts';
import { createIcons, preCreateIcon, removeIconObjects, signIcon } from './icons.ts';

export const signer = { baseUrl: 'http://svc.example.test', key: fixedKey('a key of the server') };

/** A one-pixel PNG; `mark` distinguishes it from others. */
export function tinyPng(mark = 0): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(34);
  bytes.set(Buffer.from('89504e470d0a1a0a0000000d49484452000000010000000108000000', 'hex'));
  bytes[33] = mark;
  return bytes;
}

export type Home = Awaited<ReturnType<typeof newOwnedApp>>;

export function useIcons() {
  const database = useTestDatabase();
  const icons = useFixture(newIconServer, (it) => it.close());

  function newIconServer() {
    const folder = mkdtempSync(join(tmpdir(), 'svc-icons-'));
    const objects = openFileStore(folder);
    const clock = { now: new Date() };
    const deps = { db: database.db, ...testDeps, objects, signer };
    const handle = createIcons({ ...deps, now: () => clock.now });
    return {
      objects,
      clock,
      send: (method: string, url: string, init: RequestInit = {}) =>
        handle(new Request(url, { method, ...init }), new URL(url), testRequestInfo).catch(
          (error: unknown) => {
            if (error instanceof Failure) return problemResponse(error, 'test');
            throw error;
          },
        ),
      close: () => rmSync(folder, { recursive: true }),
    };
  }

  const newHome = () => newOwnedApp(database.db);
  const base = (caller: Caller) => ({ ...testRequestInfo, db: database.db, now: new Date(), caller });
  const sign = ({ tenant, app }: Home, caller: Caller, variant: 'light' | 'dark' = 'light') =>
    signIcon({ ...base(caller), tenant, app }, { signer, variant, type: 'image/png' });
  const preCreate = ({ tenant }: Home, caller: Caller) =>
    preCreateIcon(
      { ...base(caller), tenant },
      { signer, slug: 'yet-to-be', variant: 'light', type: 'image/png' },
    );
  const put = async (url: string, body: BodyInit = tinyPng(), headers: Record<string, string> = {}) => {
    const response = await icons.send('PUT', url, { body, headers });
    const answer = (await response.json()) as { code?: string; icon_url?: string };
    return { status: response.status, code: answer.code, answer };
  };
  const get = async (url: string) => (await icons.send('GET', url)).status;

  async function iconsOf({ app }: Home) {
    const { rows } = await sql<{ icon_url: string | null; icon_dark_url: string | null }>`
      select icon_url, icon_dark_url from svc.apps where id = ${app.id}`.execute(database.db);
    const [row] = rows;
    if (!row) throw new Error('no such app');
    return row;
  }

  async function audited({ tenant }: Home, action: string) {
    const { rows } = await sql<{ actor_id: string; app_id: string | null; changes: string }>`
      select actor_id, app_id, changes from svc.audit_entries
      where tenant_id = ${tenant.id} and action = ${action} order by seq`.execute(database.db);
    return rows;
  }

  async function removeQueued(): Promise<void> {
    const { rows } = await sql<{ payload: Record<string, unknown> }>`
      delete from svc.outbox where topic = 'icons.remove' returning payload`.execute(database.db);
    for (const { payload } of rows) await removeIconObjects(icons)(payload);
  }

  async function objectsOf(url: string, { objects } = icons): Promise<number> {
    let count = 0;
    for await (const _ of objects.list(`icons/${url.split('/').at(-1)}/`)) count += 1;
    return count;
  }

  const queries = { iconsOf, audited, removeQueued, objectsOf };
  return { database, icons, newIconServer, newHome, sign, preCreate, put, get, ...queries };
}
