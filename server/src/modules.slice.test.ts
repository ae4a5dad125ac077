import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { contract } from '@svc/contract/all.ts';
import { sql } from 'kysely';
import { fixedKey } from './core/keys.ts';
import { rowsOnlyOutbox } from './core/outbox-worker.ts';
import { createDataSchema } from './data/rows/data-schema.ts';
import { openFileStore } from './drivers/object-store/file-store.ts';
import { memoryDns, testDomainsConfig } from './edge/domains/testing.ts';
import { modules } from './modules.ts';
import { newTenant, silentLog, type TestDatabase, testDatabase } from './testing.ts';

const folder = mkdtempSync(join(tmpdir(), 'svc-modules-'));
let control: TestDatabase;
let elsewhere: TestDatabase;
beforeAll(async () => {
  [control, elsewhere] = [await testDatabase(), await testDatabase()];
  for (const { url } of [control, elsewhere]) await createDataSchema({ url, role: null });
});
afterAll(async () => {
  await control.close();
  await elsewhere.close();
  rmSync(folder, { recursive: true });
});

/** Enough of the services for routes and jobs; external calls of jobs have tests of their own. */
function services(rowsIn: TestDatabase) {
  return {
    config: { baseUrl: 'http://localhost:4400', appsDomain: 'apps.localhost', dataDir: folder, https: null },
    db: control.db,
    rows: { db: rowsIn.db, role: null },
    log: silentLog,
    now: () => new Date(),
    outbox: rowsOnlyOutbox,
    objects: openFileStore(folder),
    urlKey: fixedKey('key'),
    runtime: { kind: 'process', discard: async () => {}, refuses: async () => null },
    domains: testDomainsConfig(memoryDns()),
    certificates: { runDueOrders: async () => {} },
    gitHost: { deps: null },
    git: {},
    bootstrap: {},
  };
}

const jobsFor = (rowsIn: TestDatabase) =>
  modules.flatMap((module) => module.jobs?.(services(rowsIn) as never) ?? []);

function runJob(name: string, rowsIn: TestDatabase): Promise<void> {
  const job = jobsFor(rowsIn).find((each) => each.name === name);
  if (!job) throw new Error(`There is no job ${name}.`);
  return job.run();
}

async function keysIn({ db }: TestDatabase): Promise<string[]> {
  const { rows } = await sql<{ key: string }>`
    select key_hash as key from svc_data.idempotency_keys order by 1`.execute(db);
  return rows.map(({ key }) => key);
}

test('the routes of the modules are the endpoints of the contract', () => {
  const routes = modules.flatMap((module) => module.routes?.(services(control) as never) ?? []);
  const routed = routes.map((route) => route.endpoint.id).sort();
  expect(routed).toEqual(contract.map(({ endpoint }) => endpoint.id).sort());
});

test('keys of row requests are deleted after 24 hours in the database of rows only', async () => {
  for (const { db } of [control, elsewhere]) {
    await sql`delete from svc_data.idempotency_keys`.execute(db);
    await sql`insert into svc_data.idempotency_keys (caller_id, key_hash, request_hash, answer, created_at)
      values ('a', 'old', '', '', now() - interval '24 hours 1 minute'),
             ('a', 'young', '', '', now() - interval '23 hours 59 minutes'),
             ('b', 'new', '', '', now())`.execute(db);
  }
  await runJob('rows.forgetKeys', elsewhere);
  expect(await keysIn(elsewhere)).toEqual(['new', 'young']);
  expect(await keysIn(control)).toEqual(['new', 'old', 'young']);
});

test('reserved names are deleted when their time is over', async () => {
  const { tenant } = await newTenant(control.db);
  const names = ['over', 'reserved'].map((name) => `${name}-${tenant.slug}`);
  await sql`insert into svc.reserved_names (kind, name, tenant_id, until)
    values ('subdomain', ${names[0]}, ${tenant.id}, now() - interval '1 second'),
           ('host', ${names[0]}, ${tenant.id}, now() - interval '1 second'),
           ('subdomain', ${names[1]}, ${tenant.id}, now() + interval '1 minute')`.execute(control.db);
  await runJob('names.forget', control);
  const { rows } = await sql<{ name: string }>`
    select name from svc.reserved_names where tenant_id = ${tenant.id}`.execute(control.db);
  expect(rows).toEqual([{ name: names[1]! }]);
});

test('every job can run twice', async () => {
  const jobs = jobsFor(control);
  expect(new Set(jobs.map(({ name }) => name)).size).toBe(jobs.length);
  for (const { run } of [...jobs, ...jobs]) await run();
});
