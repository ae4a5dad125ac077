import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { appRoutes } from '../apps/routes.ts';
import { openFileStore } from '../drivers/object-store/file-store.ts';
import type { ObjectStore } from '../drivers/object-store/object-store.ts';
import { copyOfServer, peopleRoutes, type ServerCopy, testOrigin } from '../identity/testing.ts';
import type { AppPlace } from '../plumbing/app-place.ts';
import { createTaggedCache } from '../plumbing/cache.ts';
import type { Db } from '../plumbing/db.ts';
import { listenForChanges } from '../plumbing/invalidation.ts';
import { rowsOnly } from '../plumbing/outbox-rows.ts';
import { Failure, problemResponse } from '../plumbing/problem.ts';
import type { Handle } from '../plumbing/serve.ts';
import { silentLog, type TestDatabase } from '../testing.ts';
import { createIssuerAccess } from './issuer-access.ts';
import { createObjectsHandler } from './objects-handler.ts';
import { storageRoutes } from './routes.ts';
import { insertStorageRow } from './store.ts';

export const testUrlKey = 'a key for tests';

export interface StorageCopy extends ServerCopy {
  objects: ObjectStore;
  /** Uses a signed address, as anybody could who has it. */
  use(url: string, init?: RequestInit): Promise<Response>;
  /** What the clock of signed addresses says, from now on. */
  setNow(now: Date | null): void;
}

/** One copy of the server with storage, its objects in a folder of the test's own. */
export async function copyWithStorage(database: TestDatabase): Promise<StorageCopy> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-storage-'));
  const objects = openFileStore(folder);
  const signing = { baseUrl: testOrigin, urlKey: testUrlKey };
  const copy = await copyOfServer(database, undefined, [
    ...peopleRoutes,
    ...appRoutes,
    ...storageRoutes(signing),
  ]);
  const changes = listenForChanges({ url: database.url, log: silentLog });
  await changes.start();
  const { db } = database;
  let fixed: Date | null = null;
  const handle = createObjectsHandler({
    db,
    objects,
    outbox: rowsOnly,
    urlKey: testUrlKey,
    now: () => fixed ?? new Date(),
    issuerAccess: createIssuerAccess({ db, cache: createTaggedCache(changes, { entriesMax: 100 }) }),
  });
  return {
    ...copy,
    objects,
    use: (url, init) => answered(handle, new Request(url, init)),
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

async function answered(handle: Handle, request: Request): Promise<Response> {
  const info = {
    requestId: 'test',
    log: silentLog,
    setRoute: () => {},
    clientAddress: '127.0.0.1',
    deadline: new AbortController().signal,
  };
  try {
    return await handle(request, new URL(request.url), info);
  } catch (error) {
    if (error instanceof Failure) return problemResponse(error, 'test');
    throw error;
  }
}

export async function enableFor(db: Db, { tenantId, appId }: AppPlace, userId: string): Promise<void> {
  const tx = await db.startTransaction().execute();
  await insertStorageRow(tx, {
    app_id: appId,
    tenant_id: tenantId,
    enabled_by: userId,
    enabled_at: new Date(),
  });
  await tx.commit().execute();
}
