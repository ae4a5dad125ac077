import { sql } from 'kysely';
import type { Caller, TenantAccess } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';

interface SentRow {
  user_id: string;
  kind: string;
  title: string;
  text: string;
  path: string;
}

export async function listSent(db: Db, tenant: TenantAccess, kind?: string): Promise<SentRow[]> {
  const { rows } = await sql<SentRow>`
    select user_id, kind, title, text, path from svc.notifications
    where tenant_id = ${tenant.id} and kind ${kind === undefined ? sql`<>` : sql`=`} ${kind ?? 'co_owner_added'}
    order by created_at, id`.execute(db);
  return rows;
}

export async function describeSent(
  db: Db,
  tenant: TenantAccess,
  people: Readonly<Record<string, Caller>>,
): Promise<string[]> {
  const rows = await listSent(db, tenant);
  const nameOf = (id: string) => Object.entries(people).find(([, { userId }]) => userId === id)?.[0] ?? id;
  return [...Map.groupBy(rows, ({ kind }) => kind)].map(
    ([kind, sent]) =>
      `${kind}: ${sent
        .map(({ user_id }) => nameOf(user_id))
        .sort()
        .join(', ')}`,
  );
}
