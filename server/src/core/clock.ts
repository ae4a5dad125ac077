import type pg from 'pg';

/** Tokens and signed URLs of one server are judged by the clocks of the others. */
export const clockDifferenceMsMax = 30_000;

export async function msAheadOfDatabase(
  db: Pick<pg.Pool, 'query'>,
  now: () => number = Date.now,
): Promise<number> {
  const sentAt = now();
  const { rows } = await db.query<{ ms: number }>(
    'select extract(epoch from clock_timestamp())::float8 * 1000 as ms',
  );
  return Math.round((sentAt + now()) / 2 - (rows[0]?.ms ?? 0));
}

export async function checkClock(db: Pick<pg.Pool, 'query'>, now?: () => number): Promise<void> {
  const ahead = await msAheadOfDatabase(db, now);
  if (Math.abs(ahead) <= clockDifferenceMsMax) return;
  const seconds = Math.round(Math.abs(ahead) / 1_000);
  throw new Error(
    `The clock of this machine is ${seconds} s ${ahead > 0 ? 'ahead of' : 'behind'} the database's clock, so valid sign-ins would be refused. Synchronize both with NTP, then start again.`,
  );
}
