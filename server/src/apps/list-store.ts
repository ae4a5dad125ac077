import type { appSorts, searchSorts } from '@svc/contract/app-lists.ts';
import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../plumbing/db.ts';
import type { Window } from '../plumbing/paging.ts';
import { hitsSql, type SearchWords } from './search-hits.ts';
import { type AppRow, appColumns } from './store.ts';

/** Questions about many apps at once. Each is built from the same conditions: who sees, which, in what order. */
export interface AppQuery {
  tenantId: string;
  seen: Seen;
  which: Which;
  q?: SearchWords | undefined;
  sort: (typeof searchSorts)[number];
}

/** `all`: an admin. Else the apps that are open to every member, the person's own, and those named. */
export type Seen = 'all' | { open: readonly AppRow['visibility'][]; ownerId: string; ids: readonly string[] };

export interface Which {
  record: readonly AppRow['record'][];
  deploymentStatus?: readonly string[] | undefined;
  operatingStatus?: readonly string[] | undefined;
  reviewStatus?: readonly string[] | undefined;
  visibility?: AppRow['visibility'] | undefined;
  categoryId?: string | undefined;
  createdSince?: Date | undefined;
  ownerId?: string | undefined;
  /** Only these, and the owner's where one is named. */
  ids?: readonly string[] | undefined;
  /** Not those that are their owners' alone. */
  shown?: 'beyond_owners';
}

/** Where a page begins: behind the app with this key. */
export interface After {
  key: string;
  id: string;
}

export type ListedRow = AppRow & { sort_key: string };

/** A page, and how many there are in all; of a search that is how many were found. */
export async function listAppRows(
  db: Db,
  query: AppQuery,
  page: Window & { after?: After | undefined },
): Promise<{ rows: ListedRow[]; total: number }> {
  if (!query.q) {
    const [rows, total] = await Promise.all([pageOf(db, query, page), countOf(db, query)]);
    return { rows, total };
  }
  // The hits are there already: they are counted with the page.
  const rows = await pageOf(db, query, page);
  return { rows, total: rows[0]?.found ?? (await countOf(db, query)) };
}

async function pageOf(
  db: Db,
  query: AppQuery,
  page: Window & { after?: After | undefined },
): Promise<(ListedRow & { found: number })[]> {
  const { column, key, type, direction } = orderOf(query.sort);
  const beyond = direction === 'asc' ? sql`>` : sql`<`;
  const after = page.after
    ? sql`and (${column}, apps.id) ${beyond} (${page.after.key}::${sql.raw(type)}, ${page.after.id}::uuid)`
    : sql``;
  const order = sql.raw(direction);
  const { rows } = await sql<ListedRow & { found: number }>`
    ${hitsOf(query)}
    select ${sql.join(columns)}, ${key} as sort_key, ${query.q ? sql`(select count(*) from hits)` : sql`0`} as found
    from ${source(query)} where ${conditions(query)} ${after}
    order by ${column} ${order}, apps.id ${order} limit ${page.limit} offset ${page.offset}`.execute(db);
  return rows;
}

async function countOf(db: Db, query: AppQuery): Promise<number> {
  const { rows } = await sql<{ total: number }>`
    ${hitsOf(query)} select count(*) as total from ${source(query)} where ${conditions(query)}`.execute(db);
  return rows[0]?.total ?? 0;
}

export interface SharedApp {
  id: string;
  relation: 'co_owner' | 'member';
  visibility: AppRow['visibility'];
}

/** Apps that others let somebody have a part in. */
export async function appsSharedWith(db: Db, tenantId: string, userId: string): Promise<SharedApp[]> {
  const { rows } = await sql<SharedApp>`
    select a.id, 'co_owner' as relation, a.visibility from svc.app_co_owners c join svc.apps a on a.id = c.app_id
      where c.user_id = ${userId} and a.tenant_id = ${tenantId}
    union all
    select a.id, 'member', a.visibility from svc.app_members m join svc.apps a on a.id = m.app_id
      where m.user_id = ${userId} and a.tenant_id = ${tenantId}`.execute(db);
  return rows;
}

const columns = appColumns
  .filter((column) => column !== 'apps.description')
  .map((column) => (typeof column === 'string' ? sql.ref(column) : column));

function hitsOf(query: AppQuery): RawBuilder<unknown> {
  return query.q ? hitsSql(query.q, conditions(query)) : sql``;
}

function source({ q }: AppQuery): RawBuilder<unknown> {
  return q ? sql`hits join svc.apps on apps.id = hits.id` : sql`svc.apps`;
}

/** Without an alias, so that every part of a question names the same table. */
function conditions({ tenantId, seen, which }: AppQuery): RawBuilder<unknown> {
  const all: RawBuilder<unknown>[] = [
    sql`apps.tenant_id = ${tenantId}`,
    sql`apps.record = any(${[...which.record]})`,
  ];
  if (seen !== 'all')
    all.push(sql`(apps.visibility = any(${[...seen.open]}) or apps.owner_id = ${seen.ownerId}
      or apps.id = any(${[...seen.ids]}::uuid[]))`);
  if (which.deploymentStatus) all.push(sql`apps.deployment_status = any(${[...which.deploymentStatus]})`);
  if (which.operatingStatus) all.push(sql`apps.operating_status = any(${[...which.operatingStatus]})`);
  if (which.reviewStatus) all.push(sql`apps.review_status = any(${[...which.reviewStatus]})`);
  if (which.visibility) all.push(sql`apps.visibility = ${which.visibility}`);
  if (which.categoryId) all.push(sql`apps.category_id = ${which.categoryId}`);
  if (which.createdSince) all.push(sql`apps.created_at >= ${which.createdSince}`);
  if (which.shown) all.push(sql`apps.visibility <> 'private'`);
  const named = [
    ...(which.ownerId ? [sql`apps.owner_id = ${which.ownerId}`] : []),
    ...(which.ids ? [sql`apps.id = any(${[...which.ids]}::uuid[])`] : []),
  ];
  if (named.length > 0) all.push(sql`(${sql.join(named, sql` or `)})`);
  return sql.join(all, sql` and `);
}

interface Order {
  column: RawBuilder<unknown>;
  /** As text that is read back to the last digit. */
  key: RawBuilder<unknown>;
  type: string;
  direction: 'asc' | 'desc';
}

function orderOf(sort: (typeof searchSorts)[number]): Order {
  if (sort === 'relevance')
    return { column: sql`hits.rank`, key: sql`hits.rank::text`, type: 'float8', direction: 'desc' };
  const name = sort.replace(/^-/, '') as Exclude<(typeof appSorts)[number], `-${string}`>;
  const direction = sort.startsWith('-') ? 'desc' : 'asc';
  switch (name) {
    case 'slug':
      return { column: sql`apps.slug`, key: sql`apps.slug`, type: 'text', direction };
    case 'name':
      return { column: sql`lower(apps.name)`, key: sql`lower(apps.name)`, type: 'text', direction };
    case 'created_at':
    case 'updated_at':
      return {
        column: sql.ref(`apps.${name}`),
        key: sql`to_char(${sql.ref(`apps.${name}`)} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`,
        type: 'timestamptz',
        direction,
      };
  }
}
