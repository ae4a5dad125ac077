import { afterAll, beforeAll, beforeEach, expect, setDefaultTimeout, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { withClient } from '../drivers/database/connect.ts';
import { type FreshDatabase, freshDatabase, runBun, testDatabase } from '../drivers/database/testing.ts';
import { MigrationError, migrate, withSchemaLock } from './migrate.ts';

setDefaultTimeout(30_000);

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
const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => 'no error',
    (error) => (error instanceof MigrationError ? error.code : String(error)),
  );

test('files are applied once each, in the order of their numbers', async () => {
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

test('a file that fails leaves nothing of itself, keeps those before it, and can be mended', async () => {
  write({
    '0001-make.sql': 'create table svc.a (n int)',
    '0002-bad.sql': 'create table svc.b (n int); select 1/0',
  });
  expect(await codeOf(run())).toBe('failed');
  expect(await query("select to_regclass('svc.a')::text as a, to_regclass('svc.b')::text as b")).toEqual([
    { a: 'svc.a', b: null },
  ]);
  write({ '0002-bad.sql': 'create table svc.b (n int)' });
  expect(await run()).toEqual({ applied: ['0002-bad.sql'] });
});

test('an applied file that was changed is an error, other line ends are no change', async () => {
  write({ '0001-make.sql': 'create table svc.a (\n  n int\n)' });
  await run();
  write({ '0001-make.sql': 'create table svc.a (\r\n  n int\r\n)' });
  expect(await run()).toEqual({ applied: [] });
  write({ '0001-make.sql': 'create table svc.a (n bigint)', '0002-next.sql': 'create table svc.b (n int)' });
  expect(await codeOf(run())).toBe('changed');
  expect(await query("select to_regclass('svc.b') as b")).toEqual([{ b: null }]);
});

test('a file that comes late, between applied ones, is an error', async () => {
  write({ '0001-one.sql': 'select 1', '0003-three.sql': 'select 3' });
  await run();
  write({ '0002-two.sql': 'select 2' });
  expect(await codeOf(run())).toBe('out_of_order');
});

test('an older server starts on a newer schema, and says so', async () => {
  write({ '0001-one.sql': 'select 1', '0002-two.sql': 'select 2' });
  await run();
  rmSync(join(directory, '0002-two.sql'));
  const lines: string[] = [];
  expect(await run(undefined, (line) => lines.push(line))).toEqual({ applied: [] });
  expect(lines).toEqual([expect.stringContaining('0002-two.sql')]);
});

test.each([[['1-short.sql']], [['0001-Upper.sql']], [['0001-a.sql', '0001-b.sql']]])(
  'names that leave the order open are an error: %p',
  async (names) => {
    write(Object.fromEntries(names.map((name) => [name, 'select 1'])));
    expect(await codeOf(run())).toBe('bad_name');
  },
);

test('a file that ends its transaction is an error', async () => {
  write({ '0001-commit.sql': 'create table svc.a (n int); commit; create table svc.b (n int)' });
  expect(await codeOf(run())).toBe('failed');
  expect(await query('select name from svc.migrations')).toEqual([]);
});

test('servers that start at once apply each file once between them', async () => {
  const names = Array.from({ length: 8 }, (_, index) => `000${index + 1}-file.sql`);
  write(
    Object.fromEntries(
      names.map((name, index) => [name, `create table svc.t${index} (); select pg_sleep(0.01)`]),
    ),
  );
  const results = await Promise.all(Array.from({ length: 5 }, () => run()));
  expect(results.flatMap((result) => result.applied).sort()).toEqual(names);
});

test('a lock that is held too long is an error, and a free one is given back after an error', async () => {
  await withClient(database.controlUrl, async (holder) => {
    await withClient(database.controlUrl, async (other) => {
      await withSchemaLock(holder, async () => {
        expect(await codeOf(withSchemaLock(other, async () => {}, 200))).toBe('locked');
      });
      const failing = withSchemaLock(holder, () =>
        Promise.reject(new MigrationError('failed', 'on purpose')),
      );
      expect(await codeOf(failing)).toBe('failed');
      await withSchemaLock(other, async () => {}, 200);
    });
  });
});

test('a table in use delays a migration, which meanwhile lets others at the table', async () => {
  write({ '0001-make.sql': 'create table svc.a (n int)' });
  await run();
  write({ '0002-widen.sql': 'alter table svc.a add column m int' });
  const reader = new pg.Client({ connectionString: database.controlUrl });
  await reader.connect();
  await reader.query('begin; select * from svc.a');
  const migrating = run();
  await Bun.sleep(100);
  // Behind a waiting ALTER TABLE a read waits as well, until that gives way.
  const began = Date.now();
  await query('select * from svc.a');
  expect(Date.now() - began).toBeLessThan(3_500);
  await reader.query('commit');
  await reader.end();
  expect(await migrating).toEqual({ applied: ['0002-widen.sql'] });
});

test('migrations killed in the middle fifty times give the schema that one run gives', async () => {
  const files = Array.from({ length: 12 }, (_, index) => [
    `00${String(index + 10)}-step.sql`,
    `create table svc.t${index} (id int primary key, name text not null);
     insert into svc.t${index} select n, 'row ' || n from generate_series(1, 200) n;
     select pg_sleep(0.01);
     create index on svc.t${index} (name);
     ${index > 0 ? `alter table svc.t${index} add foreign key (id) references svc.t${index - 1};` : ''}
     ${index > 1 ? `alter table svc.t${index - 2} add column later int default ${index}; drop table if exists svc.gone;` : ''}`,
  ]);
  write(Object.fromEntries(files));
  const whole = await freshDatabase();
  await run(whole.controlUrl);
  const expected = await schemaOf(whole.controlUrl);
  expect(expected.length).toBeGreaterThan(50);

  let killed = 0;
  const worker = async () => {
    while (killed < 50) {
      const { controlUrl, drop } = await freshDatabase();
      while (await killMidway(controlUrl)) killed++;
      await run(controlUrl);
      expect(await schemaOf(controlUrl)).toEqual(expected);
      await drop();
    }
  };
  await Promise.all([worker(), worker(), worker()]);
});

/** Lets a migration get a few files further, then kills it; false when it was done before that. */
async function killMidway(url: string): Promise<boolean> {
  const migration = runBun(
    `import { migrate } from '../../plumbing/migrate.ts';
     await migrate({ url: ${JSON.stringify(url)}, directory: ${JSON.stringify(directory)}, log: console.log });`,
  );
  for (let applied = Math.floor(Math.random() * 3); applied >= 0; applied--) {
    const line = await migration.line().catch(() => null);
    if (line === null) break;
  }
  await Bun.sleep(Math.random() * 25);
  migration.child.kill('SIGKILL');
  return (await migration.ended).code !== 0;
}

/** Everything the files make, in one comparable list. */
async function schemaOf(url: string): Promise<unknown[]> {
  const columns = await query(
    `select table_name, column_name, data_type, is_nullable, column_default from information_schema.columns
     where table_schema = 'svc' order by table_name, ordinal_position`,
    url,
  );
  const constraints = await query(
    `select conrelid::regclass::text, conname, pg_get_constraintdef(oid) from pg_constraint
     where connamespace = 'svc'::regnamespace order by 1, 2`,
    url,
  );
  const indexes = await query(`select indexdef from pg_indexes where schemaname = 'svc' order by 1`, url);
  const applied = await query('select name, checksum from svc.migrations order by 1', url);
  const rows = await query(
    'select count(*) as first, (select count(*) from svc.t11) as last from svc.t0',
    url,
  );
  return [...columns, ...constraints, ...indexes, ...applied, ...rows];
}
