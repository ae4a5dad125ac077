import { expect, test } from 'bun:test';
import { copyFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { isSafeName } from '@svc/contract/safe-names.ts';
import { sql } from 'kysely';
import { useFolder } from '../../../../scripts/use-fixture.ts';
import { openControlDatabase } from '../../core/db.ts';
import { migrate, migrationsDirectory } from '../../core/migrate.ts';
import { freshDatabase } from '../../drivers/database/testing.ts';

const folder = useFolder();

test('the migration leaves older tokens their actions, and cleans names', async () => {
  for (const name of readdirSync(migrationsDirectory).filter((file) => file < '0025'))
    copyFileSync(join(migrationsDirectory, name), join(folder, name));
  const fresh = await freshDatabase();
  await migrate({ url: fresh.controlUrl, directory: folder, log: () => {} });
  const { db, close } = openControlDatabase(fresh.controlUrl, { connectionsMax: 2, onError: () => {} });
  const [user, tenant] = [Bun.randomUUIDv7(), Bun.randomUUIDv7()];
  const odd = 'Pet\u202e\u200b\u0007 shop\u2028\u061c\ufeff';
  await sql`insert into svc.users (id, email, name, created_at)
    values (${user}, 'a@example.test', ${'\u0001'}, now())`.execute(db);
  await sql`insert into svc.tenants (id, slug, name, created_at) values (${tenant}, 'one', ${odd}, now())`.execute(
    db,
  );
  await sql`insert into svc.apps (id, tenant_id, slug, name, owner_id, owner_since, created_at, updated_at)
    values (gen_random_uuid(), ${tenant}, 'shop', ${odd}, ${user}, now(), now(), now()),
      (gen_random_uuid(), ${tenant}, 'cafe', 'Café ❤️', ${user}, now(), now(), now())`.execute(db);
  await sql`insert into svc.pats
    (id, tenant_id, user_id, name, secret_hash, hint, actions, apps, created_at, expires_at)
    values (gen_random_uuid(), ${tenant}, ${user}, ${odd}, 'x', 'abcd', '{read,write}', '{}', now(), now())`.execute(
    db,
  );

  await migrate({ url: fresh.controlUrl, directory: migrationsDirectory, log: () => {} });
  const { rows } = await sql<{ name: string }>`
    select name from svc.users union all select name from svc.tenants
    union all (select name from svc.apps order by slug) union all select name from svc.pats`.execute(db);
  expect(rows.map(({ name }) => name)).toEqual([
    'a@example.test',
    'Pet shop',
    'Café ❤️',
    'Pet shop',
    'Pet shop',
  ]);
  expect(rows.every(({ name }) => isSafeName(name))).toBe(true);
  const pats = await sql`select actions from svc.pats`.execute(db);
  expect(pats.rows).toEqual([{ actions: ['read', 'write'] }]);
  await expect(sql`update svc.pats set actions = '{admin}'`.execute(db)).rejects.toThrow('pats_actions');
  await close();
  await fresh.drop();
});
