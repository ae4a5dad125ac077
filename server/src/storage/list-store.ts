import { sql } from 'kysely';
import type { AppPlace } from '../plumbing/app-place.ts';
import type { Db } from '../plumbing/db.ts';
import type { ObjectRow } from './store.ts';

/** An object, or, where `prefix` is set, a group of which it is the first. */
export type ListedRow = ObjectRow & {
  prefix: string | null;
  /** What the next one stands behind. */
  after: string;
};

export interface ListWindow {
  prefix: string;
  delimiter: string;
  after: string;
  limit: number;
}

/** No key holds this character: what begins with a text lies between the text and the text with it behind. */
const last = sql`chr(1114111)`;

/**
 * Straight from the index, which has the keys in order. With a delimiter each step looks for the first key behind the
 * last object or group, so that a group costs one look whatever is in it.
 */
export async function listRows(db: Db, place: AppPlace, window: ListWindow): Promise<ListedRow[]> {
  const { prefix, delimiter, limit } = window;
  const { tenantId, appId } = place;
  const ofApp = sql`tenant_id = ${tenantId} and app_id = ${appId} and key >= ${prefix} and key < ${prefix} || ${last}`;
  if (delimiter === '') {
    const { rows } = await sql<ListedRow>`
      select *, null as prefix, key as after from svc.storage_objects
      where ${ofApp} and key > ${window.after} order by key limit ${limit}`.execute(db);
    return rows;
  }
  const rest = sql`substr(key, ${[...prefix].length + 1}::int)`;
  const at = sql`strpos(${rest}, ${delimiter})`;
  const group = sql`case when ${at} > 0
    then ${prefix}::text || left(${rest}, ${at} - 1) || ${delimiter}::text collate "C" end`;
  const { rows } = await sql<ListedRow>`
    with recursive found as (
      select first.*, coalesce(first.prefix || ${last}, first.key) as after, 1 as number
      from (select *, ${group} as prefix from svc.storage_objects
            where ${ofApp} and key > ${window.after} order by key limit 1) first
      union all
      select next.*, coalesce(next.prefix || ${last}, next.key) as after, found.number + 1
      from found, lateral (select *, ${group} as prefix from svc.storage_objects
            where ${ofApp} and key > found.after order by key limit 1) next
      where found.number < ${limit}
    ) select * from found order by number`.execute(db);
  return rows;
}
