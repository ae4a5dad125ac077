import type { Db } from './db.ts';

type Tables = { platform_keys: { name: string; value: string } };

export async function findPlatformValue(db: Db, name: string): Promise<string | null> {
  const query = db.withTables<Tables>().selectFrom('platform_keys').select('value').where('name', '=', name);
  return (await query.executeTakeFirst())?.value ?? null;
}

export async function storePlatformValue(db: Db, name: string, value: string): Promise<void> {
  await db
    .withTables<Tables>()
    .insertInto('platform_keys')
    .values({ name, value })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))
    .execute();
}

export async function loadOrCreatePlatformValue(db: Db, name: string, create: () => string): Promise<string> {
  const found = await findPlatformValue(db, name);
  if (found !== null) return found;
  await db
    .withTables<Tables>()
    .insertInto('platform_keys')
    .values({ name, value: create() })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  // Read again: another process may have inserted its value first.
  const value = await findPlatformValue(db, name);
  if (value === null) throw new Error(`Platform value ${name} was not stored.`);
  return value;
}
