import type { Client } from 'pg';

const waitMsMax = 10_000;

/** Whoever is in as this role, until nobody is: a login that was under way when we first looked comes in after it. */
export async function putOut(admin: Client, role: string): Promise<void> {
  const deadline = Date.now() + waitMsMax;
  for (;;) {
    const { rowCount } = await admin.query(
      'select pg_terminate_backend(pid) from pg_stat_activity where usename = $1',
      [role],
    );
    if (rowCount === 0) return;
    if (Date.now() > deadline) throw new Error(`${role} can not be put out of its database.`);
    await Bun.sleep(20);
  }
}
