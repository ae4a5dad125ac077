import { afterAll, beforeAll, expect, test } from 'bun:test';
import { sql } from 'kysely';
import { fixedKey } from '../../core/keys.ts';
import { temporaryFolder } from '../../drivers/database/testing.ts';
import { openFileStore } from '../../drivers/object-store/file-store.ts';
import type { ObjectStore } from '../../drivers/object-store/object-store.ts';
import { silentLog, useTestDatabase } from '../../testing.ts';
import { fileKey, signFileUpload } from '../storage/row-files.ts';
import { blobKey } from '../storage/storage.ts';
import { addToStorageUsage, findStorageRow, upsertObjectRow } from '../storage/store.ts';
import { insertRow, newTestTables, qualifiedTableName, type TestTables } from '../tables/testing.ts';
import { createDataSchema } from './data-schema.ts';
import { removeUnusedFiles } from './files.ts';

const database = useTestDatabase();
let objects: ObjectStore;
const folder = temporaryFolder();

beforeAll(async () => {
  await createDataSchema({ url: database.url, role: null });
  objects = openFileStore(folder.path);
});
afterAll(() => folder.remove());

const start = new Date('2026-05-01T12:00:00Z');
const after = (minutes: number) => new Date(start.getTime() + minutes * 60_000);

/** What the job does at a time, and again when no earlier write can be under way. */
async function clean(minutes: number): Promise<void> {
  const deps = { db: database.db, rowsDb: database.db, objects, log: silentLog };
  await removeUnusedFiles(deps, { now: after(minutes) });
  await removeUnusedFiles(deps, { now: after(minutes + 2) });
}

async function world(more: object = {}) {
  const tables = await newTestTables(database);
  const table = await tables.table('pets', ['photo:file:nullable'], more);
  const ref = { tenantId: tables.tenant.id, appId: tables.app.id };
  const from = sql.raw(qualifiedTableName(tables.app, table));
  return {
    tables,
    table,
    from,
    /** As an upload leaves it, without the request. */
    async upload() {
      const by = { now: start, tenant: tables.tenant, app: tables.app, caller: tables.owner };
      const signing = { baseUrl: 'http://svc.example.test', urlKey: fixedKey('test') };
      const column = { tableId: table.id, number: 2 };
      const { file } = await signFileUpload(database.db, by, signing, {
        column,
        name: 'a',
        type: 'image/png',
        size: 3,
      });
      const blob_id = crypto.randomUUID();
      const stored = await objects.put(blobKey(ref, blob_id), bytesOf('abc'), { bytesMax: 3 });
      const key = fileKey({ table_id: table.id, column_number: 2, id: file.id });
      const owned = { app_id: ref.appId, tenant_id: ref.tenantId, created_by: tables.owner.userId };
      const times = { created_at: start, updated_at: start };
      const row = { ...owned, ...times, key, blob_id, ...stored, content_type: 'image/png' };
      await upsertObjectRow(database.db as never, row);
      await addToStorageUsage(database.db, ref, { objects: 1, bytes: 3 });
      await sql`update svc.row_files set uploaded_at = created_at where id = ${file.id}`.execute(database.db);
      return { id: file.id, blob: blobKey(ref, blob_id) };
    },
    usage: async () => (await findStorageRow(database.db, ref))?.objects,
  };
}

async function* bytesOf(text: string) {
  yield Buffer.from(text);
}

const insert = (tables: TestTables, table: { id: string }, file: string) =>
  insertRow(database, tables, table, {
    1: crypto.randomUUID(),
    2: JSON.stringify({ id: file }),
    3: start,
    4: start,
  });

const isStored = async ({ id, blob }: { id: string; blob: string }) => {
  const { rows } = await sql`select from svc.row_files where id = ${id}`.execute(database.db);
  return [rows.length === 1, (await objects.get(blob)) !== null];
};
const [there, gone] = [
  [true, true],
  [false, false],
];

test('a file that no row takes within an hour is removed, one in a row stays', async () => {
  const { tables, table, upload, usage } = await world();
  const [used, unused] = [await upload(), await upload()];
  await insert(tables, table, used.id);
  await clean(30);
  expect([await isStored(used), await isStored(unused)]).toEqual([there, there]);
  await clean(90);
  expect([await isStored(used), await isStored(unused), await usage()]).toEqual([there, gone, 1]);
});

test('a file goes with its row or value, unless another row has it or the change is undone', async () => {
  const { tables, table, from, upload, usage } = await world();
  const [deleted, replaced, shared] = [await upload(), await upload(), await upload()];
  for (const { id } of [deleted, replaced, shared, shared]) await insert(tables, table, id);
  await clean(90);
  const failing = database.db.transaction().execute(async (tx) => {
    await sql`delete from ${from}`.execute(tx);
    throw new Error('undone');
  });
  await expect(failing).rejects.toThrow('undone');
  await clean(100);
  expect(await usage()).toBe(3);
  await sql`delete from ${from} where c2 ->> 'id' = ${deleted.id}`.execute(database.db);
  await sql`update ${from} set c2 = null where c2 ->> 'id' = ${replaced.id}`.execute(database.db);
  await sql`delete from ${from} where c1 = (select c1 from ${from} where c2 ->> 'id' = ${shared.id} limit 1)`.execute(
    database.db,
  );
  await clean(110);
  expect(await Promise.all([deleted, replaced, shared].map(isStored))).toEqual([gone, gone, there]);
  expect(await usage()).toBe(1);
});

test('files go with their column and their table, and stay when the table is rebuilt', async () => {
  const { tables, table, from, upload } = await world();
  const [one, other] = [await upload(), await upload()];
  for (const { id } of [one, other]) await insert(tables, table, id);
  expect((await tables.call('POST', '/pets/columns', 'n:int:nullable')).status).toBe(201);
  expect((await tables.call('PATCH', '/pets/columns/n', { type: 'bigint' })).status).toBe(200);
  await clean(90);
  expect(await isStored(one)).toEqual(there);
  await sql`delete from ${from} where c2 ->> 'id' = ${other.id}`.execute(database.db);
  await clean(100);
  expect([await isStored(one), await isStored(other)]).toEqual([there, gone]);
  expect((await tables.call('DELETE', '/pets/columns/photo')).status).toBe(204);
  await clean(110);
  expect(await isStored(one)).toEqual(gone);
});

test('a file of a deleted row stays as long as the row can be restored', async () => {
  const { tables, table, from, upload } = await world({ soft_delete: '30d' });
  const { id, blob } = await upload();
  await insert(tables, table, id);
  await sql`delete from ${from}`.execute(database.db);
  await clean(5);
  expect(await objects.get(blob)).not.toBeNull();
  const log = sql.raw(qualifiedTableName(tables.app, table).replace('"t_', '"l_'));
  await sql`update ${log} set at = at - interval '31 days'`.execute(database.db);
  // A day later.
  await sql`update svc_data.released_files set released_at = now()`.execute(database.db);
  await clean(10);
  expect(await objects.get(blob)).toBeNull();
});
