import type { Db } from './db.ts';

type Tables = { platform_keys: { name: string; value: string } };

/** A secret that all copies of the server share: made by the first that asks for it. */
export async function keptKey<T>(db: Db, name: string, make: () => Promise<T>): Promise<T> {
  const keys = db.withTables<Tables>();
  const stored = () =>
    keys.selectFrom('platform_keys').select('value').where('name', '=', name).executeTakeFirst();
  let row = await stored();
  if (!row) {
    await keys
      .insertInto('platform_keys')
      .values({ name, value: JSON.stringify(await make()) })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
    // Another copy may have been first: what stands there counts.
    row = await stored();
  }
  if (!row) throw new Error(`The platform key ${name} could not be kept.`);
  return JSON.parse(row.value) as T;
}
