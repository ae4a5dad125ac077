import { expect, test } from 'bun:test';
import { copyFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import { useFolder } from '../../../../scripts/use-fixture.ts';
import { openControlDatabase } from '../../core/db.ts';
import { migrate, migrationsDirectory } from '../../core/migrate.ts';
import { freshDatabase } from '../../drivers/database/testing.ts';

const folder = useFolder();

test('the migration gives older apps their slug as subdomain, if it is valid and free', async () => {
  for (const name of readdirSync(migrationsDirectory).filter((file) => file < '0004'))
    copyFileSync(join(migrationsDirectory, name), join(folder, name));
  const fresh = await freshDatabase();
  await migrate({ url: fresh.controlUrl, directory: folder, log: () => {} });
  const { db, close } = openControlDatabase(fresh.controlUrl, { connectionsMax: 2, onError: () => {} });
  const [owner, one, other] = [Bun.randomUUIDv7(), Bun.randomUUIDv7(), Bun.randomUUIDv7()];
  await sql`insert into svc.users (id, email, name, created_at) values (${owner}, 'a@example.test', 'A', now())`.execute(
    db,
  );
  for (const [id, slug] of [
    [one, 'one'],
    [other, 'other'],
  ])
    await sql`insert into svc.tenants (id, slug, name, created_at) values (${id}, ${slug}, ${slug}, now())`.execute(
      db,
    );
  const add = (tenant: string, slug: string, age: number) =>
    sql`insert into svc.apps (id, tenant_id, slug, name, owner_id, created_at, updated_at)
      values (gen_random_uuid(), ${tenant}, ${slug}, ${slug}, ${owner}, now() - make_interval(days => ${age}), now())`.execute(
      db,
    );
  await add(one, 'shop', 1);
  await add(other, 'shop', 2);
  await add(one, 'shop--staging', 1);
  // Reserved when the migration was written; words reserved later keep the apps that have them.
  for (const slug of ['www', 'console']) await add(one, slug, 1);

  await migrate({ url: fresh.controlUrl, directory: migrationsDirectory, log: () => {} });
  const { rows } = await sql<{ tenant_id: string; subdomain: string }>`
    select tenant_id, subdomain from svc.apps where subdomain is not null`.execute(db);
  expect(rows).toEqual([{ tenant_id: other, subdomain: 'shop' }]);
  await close();
  await fresh.drop();
});
