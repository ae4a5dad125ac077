import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { patientMs } from '../../../scripts/patience.ts';
import { withClient } from '../drivers/database/connect.ts';
import { type FreshDatabase, freshDatabase, testDatabase } from '../drivers/database/testing.ts';
import { MigrationError, migrate, withSchemaLock } from './migrate.ts';
import { expectSameSchemaAfterKills } from './migrate-testing.ts';

let directory: string;
let database: FreshDatabase;

beforeAll(async () => {
  await testDatabase();
});
beforeEach(async () => {
  if (directory) rmSync(directory, { recursive: true });
  directory = mkdtempSync(join(tmpdir(), 'svc-migrations-'));
  database = await freshDatabase();
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

function write(files: Record<string, string>): void {
  for (const [name, sql] of Object.entries(files)) writeFileSync(join(directory, name), sql);
}

const run = (url = database.controlUrl, log: (line: string) => void = () => {}) =>
  migrate({ url, directory, log });
const query = async (sql: string, url = database.controlUrl) =>
  (await withClient(url, (c) => c.query(sql))).rows;
const errorCode = (work: Promise<unknown>) =>
  work.then(
    () => 'no error',
    (error) => (error instanceof MigrationError ? error.code : String(error)),
  );

test('each file is applied once, in order of its number', async () => {
  write({
    '0002-fill.sql': 'insert into svc.a values (1)',
    '0001-make.sql': 'create table svc.a (n int)',
    'README.md': 'x',
  });
  const lines: string[] = [];
  expect(await run(undefined, (line) => lines.push(line))).toEqual({
    applied: ['0001-make.sql', '0002-fill.sql'],
  });
  expect(lines).toHaveLength(2);
  expect(await run()).toEqual({ applied: [] });
  write({ '0003-more.sql': 'insert into svc.a values (2); insert into svc.a values (3)' });
  expect(await run()).toEqual({ applied: ['0003-more.sql'] });
  expect(await query('select n from svc.a order by n')).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
});

test('a failed file leaves nothing behind and can be fixed', async () => {
  write({
    '0001-make.sql': 'create table svc.a (n int)',
    '0002-bad.sql': 'create table svc.b (n int); select 1/0',
  });
  expect(await errorCode(run())).toBe('failed');
  expect(await query("select to_regclass('svc.a')::text as a, to_regclass('svc.b')::text as b")).toEqual([
    { a: 'svc.a', b: null },
  ]);
  write({ '0002-bad.sql': 'create table svc.b (n int)' });
  expect(await run()).toEqual({ applied: ['0002-bad.sql'] });
});

test('an edited applied file is an error; different line ends are not an edit', async () => {
  write({ '0001-make.sql': 'create table svc.a (\n  n int\n)' });
  await run();
  write({ '0001-make.sql': 'create table svc.a (\r\n  n int\r\n)' });
  expect(await run()).toEqual({ applied: [] });
  write({ '0001-make.sql': 'create table svc.a (n bigint)', '0002-next.sql': 'create table svc.b (n int)' });
  expect(await errorCode(run())).toBe('changed');
  expect(await query("select to_regclass('svc.b') as b")).toEqual([{ b: null }]);
});

test('a new file with a lower number than an applied one is an error', async () => {
  write({ '0001-one.sql': 'select 1', '0003-three.sql': 'select 3' });
  await run();
  write({ '0002-two.sql': 'select 2' });
  expect(await errorCode(run())).toBe('out_of_order');
});

test('an older server does not start on a newer schema, and says why', async () => {
  write({ '0001-one.sql': 'select 1', '0002-two.sql': 'select 2' });
  await run();
  rmSync(join(directory, '0002-two.sql'));
  expect(await errorCode(run())).toBe('newer');
});

test.each([[['1-short.sql']], [['0001-Upper.sql']], [['0001-a.sql', '0001-b.sql']]])(
  'ambiguous file names are an error: %p',
  async (names) => {
    write(Object.fromEntries(names.map((name) => [name, 'select 1'])));
    expect(await errorCode(run())).toBe('bad_name');
  },
);

test('a file that ends its transaction is an error', async () => {
  write({ '0001-commit.sql': 'create table svc.a (n int); commit; create table svc.b (n int)' });
  expect(await errorCode(run())).toBe('failed');
  expect(await query('select name from svc.migrations')).toEqual([]);
});

test('servers that start concurrently apply each file once', async () => {
  const names = Array.from({ length: 8 }, (_, index) => `000${index + 1}-file.sql`);
  write(
    Object.fromEntries(
      names.map((name, index) => [name, `create table svc.t${index} (); select pg_sleep(0.01)`]),
    ),
  );
  const results = await Promise.all(Array.from({ length: 5 }, () => run()));
  expect(results.flatMap((result) => result.applied).sort()).toEqual(names);
});

test('a lock held too long is an error, and the lock is released after an error', async () => {
  await withClient(database.controlUrl, async (holder) => {
    await withClient(database.controlUrl, async (other) => {
      await withSchemaLock(holder, async () => {
        expect(await errorCode(withSchemaLock(other, async () => {}, 200))).toBe('locked');
      });
      const failing = withSchemaLock(holder, () =>
        Promise.reject(new MigrationError('failed', 'on purpose')),
      );
      expect(await errorCode(failing)).toBe('failed');
      await withSchemaLock(other, async () => {}, 200);
    });
  });
});

test('a table in use delays a migration, which does not block other queries on the table', async () => {
  write({ '0001-make.sql': 'create table svc.a (n int)' });
  await run();
  write({ '0002-widen.sql': 'alter table svc.a add column m int' });
  const reader = new pg.Client({ connectionString: database.controlUrl });
  await reader.connect();
  await reader.query('begin; select * from svc.a');
  const migrating = run();
  await Bun.sleep(100);
  // A read queues behind a waiting ALTER TABLE until that times out.
  const began = Date.now();
  await query('select * from svc.a');
  expect(Date.now() - began).toBeLessThan(patientMs(3_500));
  await reader.query('commit');
  await reader.end();
  expect(await migrating).toEqual({ applied: ['0002-widen.sql'] });
});

test('migrations killed five times give the same schema as one run', () => expectSameSchemaAfterKills(5));
