import { expect } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freshDatabase, query, runBun } from '../drivers/database/testing.ts';
import { migrate } from './migrate.ts';

export async function expectSameSchemaAfterKills(kills: number): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'svc-migrations-'));
  const run = (url: string) => migrate({ url, directory, log: () => {} });
  for (let index = 0; index < 12; index++) {
    const sql = `create table svc.t${index} (id int primary key, name text not null);
     insert into svc.t${index} select n, 'row ' || n from generate_series(1, 200) n;
     select pg_sleep(0.01);
     create index on svc.t${index} (name);
     ${index > 0 ? `alter table svc.t${index} add foreign key (id) references svc.t${index - 1};` : ''}
     ${index > 1 ? `alter table svc.t${index - 2} add column later int default ${index}; drop table if exists svc.gone;` : ''}`;
    writeFileSync(join(directory, `00${index + 10}-step.sql`), sql);
  }
  const whole = await freshDatabase();
  await run(whole.controlUrl);
  const expected = await readSchema(whole.controlUrl);
  expect(expected.length).toBeGreaterThan(50);

  let killed = 0;
  const worker = async () => {
    while (killed < kills) {
      const { controlUrl, drop } = await freshDatabase();
      while (await killMidway(controlUrl, directory)) killed++;
      await run(controlUrl);
      expect(await readSchema(controlUrl)).toEqual(expected);
      await drop();
    }
  };
  await Promise.all(Array.from({ length: kills > 10 ? 3 : 1 }, worker));
  rmSync(directory, { recursive: true });
}

async function killMidway(url: string, directory: string): Promise<boolean> {
  const migration = runBun(
    `import { migrate } from ${JSON.stringify(join(import.meta.dir, 'migrate.ts'))};
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

async function readSchema(url: string): Promise<unknown[]> {
  const statements = [
    `select table_name, column_name, data_type, is_nullable, column_default from information_schema.columns
     where table_schema = 'svc' order by table_name, ordinal_position`,
    `select conrelid::regclass::text, conname, pg_get_constraintdef(oid) from pg_constraint
     where connamespace = 'svc'::regnamespace order by 1, 2`,
    `select indexdef from pg_indexes where schemaname = 'svc' order by 1`,
    'select name, checksum from svc.migrations order by 1',
    'select count(*) as first, (select count(*) from svc.t11) as last from svc.t0',
  ];
  return (await Promise.all(statements.map((statement) => query(url, statement)))).flat();
}
