import { sql } from 'kysely';
import type { Db, Tx } from '../plumbing/db.ts';

/** Which of the hosts nobody has and no other tenant is kept, in the order of the list. */
export async function freeSubdomains(db: Db, tenantId: string, names: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select name from unnest(${[...names]}::text[]) with ordinality as wanted (name, place)
    where not exists (select from svc.apps where apps.subdomain = wanted.name)
      and not exists (select from svc.reserved_names r where r.kind = 'subdomain' and r.name = wanted.name
        and r.tenant_id <> ${tenantId} and r.until > now())
    order by place`.execute(db);
  return rows.map(({ name }) => name);
}

/** Deleted apps keep theirs. */
export async function freeSlugs(db: Db, tenantId: string, slugs: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ slug: string }>`
    select slug from unnest(${[...slugs]}::text[]) with ordinality as wanted (slug, place)
    where not exists (select from svc.apps where apps.tenant_id = ${tenantId} and apps.slug = wanted.slug)
    order by place`.execute(db);
  return rows.map(({ slug }) => slug);
}

/**
 * Asked once the app has the name: who gave it up may have done so while we waited for it. Ends the tenant's own
 * reservation.
 */
export async function isKeptForOthers(tx: Tx, tenantId: string, subdomain: string): Promise<boolean> {
  const { rows } = await sql<{ tenant_id: string }>`
    select tenant_id from svc.reserved_names
    where kind = 'subdomain' and name = ${subdomain} and until > now()`.execute(tx);
  if (rows[0] && rows[0].tenant_id !== tenantId) return true;
  await sql`delete from svc.reserved_names where kind = 'subdomain' and name = ${subdomain}`.execute(tx);
  return false;
}

/** Keeps a host that was given up for the tenant that had it. */
export async function keepSubdomain(
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
