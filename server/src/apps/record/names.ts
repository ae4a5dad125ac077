import { appSlug, subdomain as subdomainShape } from '@svc/contract/apps.shapes.ts';
import { reservedSlugs, reservedSubdomains } from '@svc/contract/apps.ts';
import { slugPattern } from '@svc/contract/limits.ts';
import { type RawBuilder, sql } from 'kysely';
import type { TenantCtx } from '../../core/context.ts';
import type { Db, Tx } from '../../core/db.ts';

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

export function filterFreeSlugs(db: Db, tenantId: string, names: readonly string[]): Promise<string[]> {
  return filterNames(
    db,
    names,
    sql`
    not exists (select from svc.apps where apps.tenant_id = ${tenantId} and apps.slug = candidate.name)`,
  );
}

async function filterNames(db: Db, names: readonly string[], isFree: RawBuilder<unknown>): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select name from unnest(${[...names]}::text[]) with ordinality as candidate (name, position)
    where ${isFree} order by position`.execute(db);
  return rows.map(({ name }) => name);
}

/** Called after the app has the name: its former owner may release it while this transaction waits for the row. */
export async function claimSubdomain(tx: Tx, tenantId: string, subdomain: string): Promise<boolean> {
  const { rows } = await sql<{ tenant_id: string }>`
    select tenant_id from svc.reserved_names
    where kind = 'subdomain' and name = ${subdomain} and until > now()`.execute(tx);
  if (rows[0] && rows[0].tenant_id !== tenantId) return false;
  await sql`delete from svc.reserved_names where kind = 'subdomain' and name = ${subdomain}`.execute(tx);
  return true;
}

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

const suggestionsMax = 3;

export async function checkAvailability(ctx: TenantCtx, query: { slug?: string; subdomain?: string }) {
  const { id, slug: tenantSlug } = ctx.tenant;
  const slug = await checkName(query.slug, {
    isValid: (name) => appSlug.safeParse(name).success,
    reserved: reservedSlugs,
    free: (names) => filterFreeSlugs(ctx.db, id, names),
    suggest: candidateSlugs,
  });
  const subdomain = await checkName(query.subdomain, {
    isValid: (name) => subdomainShape.safeParse(name).success,
    reserved: reservedSubdomains,
    free: (names) => filterFreeSubdomains(ctx.db, id, names),
    suggest: (name) => [...candidateSubdomains(name, tenantSlug), ...candidateSlugs(name)],
  });
  return { available: [slug, subdomain].every((name) => name === null || name.available), slug, subdomain };
}

interface NameRules {
  isValid: (name: string) => boolean;
  reserved: readonly string[];
  free: (names: readonly string[]) => Promise<string[]>;
  suggest: (name: string) => string[];
}

async function checkName(name: string | undefined, { isValid, reserved, free, suggest }: NameRules) {
  if (name === undefined) return null;
  const reason = reserved.includes(name)
    ? 'reserved'
    : !isValid(name)
      ? 'invalid'
      : (await free([name])).length === 0
        ? 'taken'
        : null;
  const normalized = normalizeName(name);
  const candidates = [normalized, ...suggest(normalized)].filter((other) => other !== name && isValid(other));
  const suggestions = reason === null ? [] : (await free(candidates)).slice(0, suggestionsMax);
  return { name, available: reason === null, reason, suggestions } as const;
}

function normalizeName(name: string): string {
  return name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^[^a-z]+|-+$/g, '')
    .slice(0, 50);
}

const charsMax = 63;
const numberedMax = 30;

export function candidateSubdomains(slug: string, tenantSlug: string): string[] {
  const plain = slug.replace(/-{2,}/g, '-');
  const long = `${plain}-${tenantSlug}`.replace(/-{2,}/g, '-');
  const numbered = numbers.map((number) => withSuffix(plain, `-${number}`));
  return [plain, withSuffix(long, ''), ...numbered].filter(isSubdomain);
}

function candidateSlugs(slug: string): string[] {
  return ['-app', '-web', ...numbers.map((number) => `-${number}`)].map((suffix) => withSuffix(slug, suffix));
}

function isSubdomain(text: string): boolean {
  return slugPattern.test(text) && !text.includes('--') && !reservedSubdomains.includes(text);
}

const numbers = Array.from({ length: numberedMax }, (_, at) => at + 2);

function withSuffix(text: string, suffix: string): string {
  return text.slice(0, charsMax - suffix.length).replace(/-+$/, '') + suffix;
}
