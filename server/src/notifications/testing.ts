import { sql } from 'kysely';
import type { Caller, TenantAccess, TenantCtx } from '../plumbing/context.ts';
import type { Db } from '../plumbing/db.ts';
import { silentLog } from '../testing.ts';

/** As a request of the person reads. */
export function ctxOf(db: Db, tenant: TenantAccess, caller: Caller): TenantCtx {
  return { db, tenant, caller, now: new Date(), requestId: 'test', log: silentLog };
}

export interface ToldRow {
  user_id: string;
  kind: string;
  title: string;
  text: string;
  path: string;
}

/** Who was told what in the tenant, in order; of co-owners being added, only where that is asked for. */
export async function toldIn(db: Db, tenant: TenantAccess, kind?: string): Promise<ToldRow[]> {
  const { rows } = await sql<ToldRow>`
    select user_id, kind, title, text, path from svc.notifications
    where tenant_id = ${tenant.id} and kind ${kind === undefined ? sql`<>` : sql`=`} ${kind ?? 'co_owner_added'}
    order by created_at, id`.execute(db);
  return rows;
}

/** The same, as `kind: who, who`, by the names that the test gives people. */
export async function whoWasTold(
  db: Db,
  tenant: TenantAccess,
  people: Readonly<Record<string, Caller>>,
): Promise<string[]> {
  const rows = await toldIn(db, tenant);
  const nameOf = (id: string) => Object.entries(people).find(([, { userId }]) => userId === id)?.[0] ?? id;
  return [...Map.groupBy(rows, ({ kind }) => kind)].map(
    ([kind, told]) =>
      `${kind}: ${told
        .map(({ user_id }) => nameOf(user_id))
        .sort()
        .join(', ')}`,
  );
}
