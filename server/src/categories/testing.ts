import { sql } from 'kysely';
import type { Caller, TenantAccess } from '../plumbing/context.ts';
import type { Db } from '../plumbing/db.ts';
import { testMutation } from '../testing.ts';
import { createCategory } from './create-category.ts';
import type { CategoryRecord } from './rules.ts';

export async function newCategory(
  db: Db,
  { tenant, admin }: { tenant: TenantAccess; admin: Caller },
  set: Partial<Parameters<typeof createCategory>[1]> = {},
): Promise<CategoryRecord> {
  const name = `c-${Bun.randomUUIDv7().replaceAll('-', '').slice(-20)}`;
  const input = { name, description: '', color: '', icon_url: '', display_order: 0, ...set };
  const { value } = await testMutation(db, admin, (ctx) => createCategory(ctx, input), {
    context: { tenant },
  });
  return value;
}

/** So many of them, all named Many. */
export async function appsIn(
  db: Db,
  it: { tenant: TenantAccess; owner: Caller; categoryId: string; count: number },
): Promise<void> {
  await sql`insert into svc.apps (id, tenant_id, slug, name, owner_id, category_id, owner_since, created_at, updated_at)
    select gen_random_uuid(), ${it.tenant.id}, 'many-' || n, 'Many ' || n, ${it.owner.userId}, ${it.categoryId},
      now(), now(), now()
    from generate_series(1, ${it.count}::int) n`.execute(db);
}

/** An app that stands in the category; its id. */
export async function appIn(
  db: Db,
  { tenant, owner, categoryId }: { tenant: TenantAccess; owner: Caller; categoryId: string },
): Promise<string> {
  const id = Bun.randomUUIDv7();
  const slug = `a-${id.replaceAll('-', '').slice(-20)}`;
  await sql`insert into svc.apps (id, tenant_id, slug, name, owner_id, category_id, owner_since, created_at, updated_at)
    values (${id}, ${tenant.id}, ${slug}, ${slug}, ${owner.userId}, ${categoryId}, now(), now(), now())`.execute(
    db,
  );
  return id;
}
