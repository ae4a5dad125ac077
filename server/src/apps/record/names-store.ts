import { type RawBuilder, sql } from 'kysely';
import type { Db, Tx } from '../../core/db.ts';

/** Without subdomains reserved for another tenant. */
export function filterFreeSubdomains(db: Db, tenantId: string, names: readonly string[]): Promise<string[]> {
  return filterNames(
    db,
    names,
    sql`
    not exists (select from svc.apps where apps.subdomain = candidate.name)
      and not exists (select from svc.reserved_names r where r.kind = 'subdomain' and r.name = candidate.name
        and r.tenant_id <> ${tenantId} and r.until > now())`,
  );
}

/** Deleted apps keep their slugs. */
export function filterFreeSlugs(db: Db, tenantId: string, names: readonly string[]): Promise<string[]> {
  return filterNames(
    db,
    names,
    sql`
    not exists (select from svc.apps where apps.tenant_id = ${tenantId} and apps.slug = candidate.name)`,
  );
}

/** In the order of the list. */
async function filterNames(db: Db, names: readonly string[], isFree: RawBuilder<unknown>): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select name from unnest(${[...names]}::text[]) with ordinality as candidate (name, position)
    where ${isFree} order by position`.execute(db);
  return rows.map(({ name }) => name);
}

/**
 * Returns false when the name is reserved for another tenant; otherwise deletes the reservation. Called after the
 * app has the name, since its former owner may release it while this transaction waits for the row.
 */
export async function claimSubdomain(tx: Tx, tenantId: string, subdomain: string): Promise<boolean> {
  const { rows } = await sql<{ tenant_id: string }>`
    select tenant_id from svc.reserved_names
    where kind = 'subdomain' and name = ${subdomain} and until > now()`.execute(tx);
  if (rows[0] && rows[0].tenant_id !== tenantId) return false;
  await sql`delete from svc.reserved_names where kind = 'subdomain' and name = ${subdomain}`.execute(tx);
  return true;
}

/** Reserves a released subdomain for the tenant that had it. */
export async function reserveSubdomain(
  tx: Tx,
  tenantId: string,
  { subdomain, until }: { subdomain: string; until: Date },
): Promise<void> {
  await sql`
    insert into svc.reserved_names (kind, name, tenant_id, until)
    values ('subdomain', ${subdomain}, ${tenantId}, ${until})
    on conflict (kind, name) do update set tenant_id = excluded.tenant_id, until = excluded.until`.execute(
    tx,
  );
}

export async function deleteExpiredNames(db: Db): Promise<void> {
  await sql`delete from svc.reserved_names where until <= now()`.execute(db);
}
