import { expect, test } from 'bun:test';
import { copyFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { presetOf, type TableRules } from '@svc/contract/table-rules.ts';
import { sql } from 'kysely';
import { useFolder } from '../../../../scripts/use-fixture.ts';
import { openControlDatabase } from '../../core/db.ts';
import { migrate, migrationsDirectory } from '../../core/migrate.ts';
import { freshDatabase } from '../../drivers/database/testing.ts';
import type { DatabaseFacts } from './check.ts';
import { openTables } from './database.ts';

const folder = useFolder();

test('tables from before rules keep what they allowed, and the doctor names those that everybody can change', async () => {
  for (const name of readdirSync(migrationsDirectory).filter((file) => file < '0041'))
    copyFileSync(join(migrationsDirectory, name), join(folder, name));
  const fresh = await freshDatabase();
  await migrate({ url: fresh.controlUrl, directory: folder, log: () => {} });
  const control = openControlDatabase(fresh.controlUrl, { connectionsMax: 2, onError: () => {} });
  const { db } = control;
  const [owner, tenant, app, gone] = Array.from({ length: 4 }, () => Bun.randomUUIDv7());
  await sql`insert into svc.users (id, email, name, created_at) values (${owner}, 'a@example.test', 'A', now())`.execute(
    db,
  );
  await sql`insert into svc.tenants (id, slug, name, created_at) values (${tenant}, 'one', 'One', now())`.execute(
    db,
  );
  for (const [id, slug, record] of [
    [app, 'lunch', 'active'],
    [gone, 'gone', 'deleted'],
  ])
    await sql`insert into svc.apps (id, tenant_id, slug, name, owner_id, record, owner_since, created_at, updated_at)
      values (${id}, ${tenant}, ${slug}, ${slug}, ${owner}, ${record}, now(), now(), now())`.execute(db);
  const add = (appId: string | undefined, name: string, ownerColumn: number | null) =>
    sql`insert into svc.app_tables (id, tenant_id, app_id, name, owner_column, columns_made, attributes_made, created_by,
        created_at, updated_at)
      values (gen_random_uuid(), ${tenant}, ${appId}, ${name}, ${ownerColumn}, 1, 1, ${owner}, now(), now())`.execute(
      db,
    );
  await add(app, 'menu', null);
  await add(app, 'orders', 1);
  await add(gone, 'old', null);

  await migrate({ url: fresh.controlUrl, directory: migrationsDirectory, log: () => {} });
  const { rows } = await sql<{ name: string; rules: TableRules }>`
    select name, rules from svc.app_tables where app_id = ${app} order by name`.execute(db);
  expect(rows.map(({ name, rules }) => [name, presetOf(rules)])).toEqual([
    ['menu', 'read-write'],
    ['orders', 'own'],
  ]);

  if (openTables.needs !== 'database') throw new Error('The check needs a database.');
  const check = openTables.run;
  const look = async () => check({ control } as DatabaseFacts);
  expect(await look()).toEqual({
    status: 'warning',
    detail: 'In 1 table every user of the app can change every row: one/lunch/menu',
    hint: 'Tell the owners to set rules: svc tables access set.',
  });
  // Rules for one of the changes are enough, a condition narrows them.
  const set = (name: string, rules: Partial<TableRules>) =>
    sql`update svc.app_tables set rules = rules || ${JSON.stringify(rules)}::jsonb where name = ${name}`.execute(
      db,
    );
  await set('orders', { delete: ['role:cook', 'any'] });
  expect((await look()).detail).toBe(
    'In 2 tables every user of the app can change every row: one/lunch/menu, one/lunch/orders',
  );
  const closed = { who: 'any', where: 'state=eq.open' } as const;
  for (const name of ['menu', 'orders']) await set(name, { update: [closed], delete: ['own'] });
  expect(await look()).toMatchObject({
    status: 'ok',
    detail: 'No table lets every user of its app change every row.',
  });
  for (let at = 0; at < 7; at++) await addOpen(`t${at}`);
  expect((await look()).detail).toBe(
    `In 7 tables every user of the app can change every row: ${[0, 1, 2, 3, 4].map((at) => `one/lunch/t${at}`).join(', ')} …`,
  );
  await control.close();
  await fresh.drop();

  function addOpen(name: string) {
    return sql`insert into svc.app_tables (id, tenant_id, app_id, name, columns_made, attributes_made, created_by,
        created_at, updated_at, rules)
      select gen_random_uuid(), ${tenant}, ${app}, ${name}, 1, 1, ${owner}, now(), now(),
        '{"read":["any"],"insert":["any"],"update":["any"],"delete":["any"],"columns":{}}'`.execute(db);
  }
});
