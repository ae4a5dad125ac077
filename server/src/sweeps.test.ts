import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { memoryDns, testPlace } from './domains/testing.ts';
import { openFileStore } from './drivers/object-store/file-store.ts';
import { rowsOnly } from './plumbing/outbox-rows.ts';
import { prepareData } from './rows/prepare-data.ts';
import { sweepsOf } from './sweeps.ts';
import { newTenant, silentLog, type TestDatabase, testDatabase } from './testing.ts';

const folder = mkdtempSync(join(tmpdir(), 'svc-sweeps-'));
const objects = openFileStore(folder);
const places = {
  objects,
  domains: testPlace(memoryDns()),
  // What is due is ordered of an authority, which has tests of its own.
  ordering: { sweep: async () => {} },
  runtime: { kind: 'process' as const, discard: async () => {} },
  outbox: rowsOnly,
};
let control: TestDatabase;
let elsewhere: TestDatabase;
beforeAll(async () => {
  [control, elsewhere] = [await testDatabase(), await testDatabase()];
  for (const { url } of [control, elsewhere]) await prepareData({ url, role: null });
});
afterAll(async () => {
  await control.close();
  await elsewhere.close();
  rmSync(folder, { recursive: true });
});

async function keepKeys({ db }: TestDatabase): Promise<void> {
  await sql`delete from svc_data.idempotency_keys`.execute(db);
  await sql`insert into svc_data.idempotency_keys (caller_id, key_hash, request_hash, answer, created_at)
    values ('a', 'old', '', '', now() - interval '24 hours 1 minute'),
           ('a', 'young', '', '', now() - interval '23 hours 59 minutes'),
           ('b', 'new', '', '', now())`.execute(db);
}

async function keysIn({ db }: TestDatabase): Promise<string[]> {
  const { rows } = await sql<{ key: string }>`
    select key_hash as key from svc_data.idempotency_keys order by 1`.execute(db);
  return rows.map(({ key }) => key);
}

function sweep(name: string, rowsDb: TestDatabase): Promise<void> {
  const parts = { ...places, db: control.db, rowsDb: rowsDb.db, log: silentLog };
  const found = sweepsOf(() => parts).find((each) => each.name === name);
  if (!found) throw new Error(`There is no sweep ${name}.`);
  return found.run();
}

test('keys of row requests are forgotten after 24 hours, wherever the rows are, and nowhere else', async () => {
  for (const place of [control, elsewhere]) await keepKeys(place);
  await sweep('rows.forgetKeys', elsewhere);
  expect(await keysIn(elsewhere)).toEqual(['new', 'young']);
  expect(await keysIn(control)).toEqual(['new', 'old', 'young']);
  await sweep('rows.forgetKeys', control);
  expect(await keysIn(control)).toEqual(['new', 'young']);
});

test('names that were given up are kept for their time and then forgotten', async () => {
  const { tenant } = await newTenant(control.db);
  const names = ['over', 'kept'].map((name) => `${name}-${tenant.slug}`);
  await sql`insert into svc.reserved_names (kind, name, tenant_id, until)
    values ('subdomain', ${names[0]}, ${tenant.id}, now() - interval '1 second'),
           ('host', ${names[0]}, ${tenant.id}, now() - interval '1 second'),
           ('subdomain', ${names[1]}, ${tenant.id}, now() + interval '1 minute')`.execute(control.db);
  await sweep('names.forget', control);
  const { rows } = await sql<{ name: string }>`
    select name from svc.reserved_names where tenant_id = ${tenant.id}`.execute(control.db);
  expect(rows).toEqual([{ name: names[1]! }]);
});

test('every sweep can be run twice', async () => {
  const parts = { ...places, db: control.db, rowsDb: control.db, log: silentLog };
  const sweeps = sweepsOf(() => parts);
  expect(new Set(sweeps.map(({ name }) => name)).size).toBe(sweeps.length);
  for (const { run } of [...sweeps, ...sweeps]) await run();
});
