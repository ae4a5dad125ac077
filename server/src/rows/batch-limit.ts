import { batchRequestsPerMinuteMax } from '@svc/contract/rows.ts';
import type { RowDatabase } from '../drivers/row-database/row-database.ts';
import { fail } from '../plumbing/problem.ts';

/** Counts a batch of the app, or refuses it. */
export type BatchLimit = (appId: string) => Promise<void>;

/**
 * Exact over all copies of the server, and over every minute, not only those that begin at :00: the database keeps the
 * times of the last minute's batches. In a statement of its own, so that batches do not wait for one another's end.
 */
export function createBatchLimit(rowDb: RowDatabase): BatchLimit {
  return async (appId) => {
    const { rows } = await rowDb.of(appId).run('write', takeSql, [appId]);
    if (rows.length > 0) return;
    const oldest = await rowDb.of(appId).run('read', waitSql, [appId]);
    const seconds = Math.max(1, Math.ceil(Number(oldest.rows[0]?.[0] ?? 1)));
    throw fail('rate_limited', {
      detail: `An app may send ${batchRequestsPerMinuteMax} batches a minute.`,
      headers: { 'retry-after': String(seconds) },
    });
  };
}

const withinMinute =
  "array(select t from unnest(b.times) t where t > clock_timestamp() - interval '1 minute')";

/** No row comes back when the minute is full: the lock on the app's row puts all who ask in line. */
const takeSql = `
  insert into svc_data.batch_times as b (app_id, times) values ($1::uuid, array[clock_timestamp()])
  on conflict (app_id) do update set times = ${withinMinute} || clock_timestamp()
  where cardinality(${withinMinute}) < ${batchRequestsPerMinuteMax}
  returning 1::text`;

const waitSql = `
  select extract(epoch from min(t) + interval '1 minute' - clock_timestamp())::text
  from svc_data.batch_times b, unnest(b.times) t where b.app_id = $1::uuid and t > clock_timestamp() - interval '1 minute'`;
