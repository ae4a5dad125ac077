import type { appSorts, searchSorts } from '@svc/contract/app-lists.ts';
import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../../core/db.ts';
import type { PageWindow } from '../../core/paging.ts';
import { currentGroupIds } from '../../people/groups/groups.ts';
import { hitsSql, type SearchWords } from './search-sql.ts';
import { type AppRow, appColumns } from './store.ts';

export interface AppQuery {
  tenantId: string;
  visible: VisibilityFilter;
  filter: AppFilter;
  q?: SearchWords;
  sort: (typeof searchSorts)[number];
}

/** `all` for an admin; otherwise apps visible to every member, the user's own, and the listed ids. */
export type VisibilityFilter =
  | 'all'
  | { open: readonly AppRow['visibility'][]; ownerId: string; ids: readonly string[] };

export interface AppFilter {
  record: readonly AppRow['record'][];
  deploymentStatus?: readonly string[];
  operatingStatus?: readonly string[];
  reviewStatus?: readonly string[];
  visibility?: AppRow['visibility'];
  categoryId?: string;
  createdSince?: Date;
  ownerId?: string;
  /** These, and the owner's if one is named. */
  ids?: readonly string[];
  /** Excludes private apps. */
  isShared?: true;
}

export interface CursorPosition {
  key: string;
  id: string;
}

export type ListedRow = AppRow & { sort_key: string };

export async function listAppRows(
  db: Db,
  query: AppQuery,
  page: PageWindow & { after?: CursorPosition },
): Promise<{ rows: ListedRow[]; total: number }> {
  if (!query.q) {
    const [rows, total] = await Promise.all([selectPage(db, query, page), countMatches(db, query)]);
    return { rows, total };
  }
  // A search counts its hits with the page.
  const rows = await selectPage(db, query, page);
  return { rows, total: rows[0]?.found ?? (await countMatches(db, query)) };
}

async function selectPage(db: Db, query: AppQuery, page: PageWindow & { after?: CursorPosition }) {
  const { column, key, type, direction } = sortOrder(query.sort);
  const beyond = direction === 'asc' ? sql`>` : sql`<`;
  const after = page.after
    ? sql`and (${column}, apps.id) ${beyond} (${page.after.key}::${sql.raw(type)}, ${page.after.id}::uuid)`
    : sql``;
  const order = sql.raw(direction);
  const { rows } = await sql<ListedRow & { found: number }>`
    ${searchHits(query)}
    select ${sql.join(columns)}, ${key} as sort_key, ${query.q ? sql`(select count(*) from hits)` : sql`0`} as found
    from ${fromClause(query)} where ${conditions(query)} ${after}
    order by ${column} ${order}, apps.id ${order} limit ${page.limit} offset ${page.offset}`.execute(db);
  return rows;
}

async function countMatches(db: Db, query: AppQuery): Promise<number> {
  const { rows } = await sql<{ total: number }>`
    ${searchHits(query)} select count(*) as total from ${fromClause(query)} where ${conditions(query)}`.execute(
    db,
  );
  return rows[0]?.total ?? 0;
}

export interface SharedApp {
  id: string;
  relation: 'co_owner' | 'member';
  visibility: AppRow['visibility'];
}

/** A co-owner may also be in an invited group: each app has one row, with the stronger relation. */
export async function listAppsSharedWith(db: Db, tenantId: string, userId: string): Promise<SharedApp[]> {
  const { rows } = await sql<SharedApp>`
    select id, min(relation) as relation, visibility from (
    select a.id, 'co_owner' as relation, a.visibility from svc.app_co_owners c join svc.apps a on a.id = c.app_id
      where c.user_id = ${userId} and a.tenant_id = ${tenantId}
    union all
    select a.id, 'member', a.visibility from svc.app_members m join svc.apps a on a.id = m.app_id
      where m.user_id = ${userId} and a.tenant_id = ${tenantId}
    union all
    select a.id, 'member', a.visibility from svc.app_member_groups g join svc.apps a on a.id = g.app_id
      where g.group_id in ${currentGroupIds(tenantId, userId)} and a.tenant_id = ${tenantId}
    ) shared group by id, visibility`.execute(db);
  return rows;
}

const columns = appColumns
  .filter((column) => column !== 'apps.description')
  .map((column) => (typeof column === 'string' ? sql.ref(column) : column));

function searchHits(query: AppQuery): RawBuilder<unknown> {
  return query.q ? hitsSql(query.q, conditions(query)) : sql``;
}

function fromClause({ q }: AppQuery): RawBuilder<unknown> {
  return q ? sql`hits join svc.apps on apps.id = hits.id` : sql`svc.apps`;
}

/** No alias, so that every part of the query can name the same table. */
function conditions({ tenantId, visible, filter }: AppQuery): RawBuilder<unknown> {
  const all: RawBuilder<unknown>[] = [
    sql`apps.tenant_id = ${tenantId}`,
    sql`apps.record = any(${[...filter.record]})`,
    sql`apps.preview_of is null`,
  ];
  if (visible !== 'all')
    all.push(sql`(apps.visibility = any(${[...visible.open]}) or apps.owner_id = ${visible.ownerId}
      or apps.id = any(${[...visible.ids]}::uuid[]))`);
  if (filter.deploymentStatus) all.push(sql`apps.deployment_status = any(${[...filter.deploymentStatus]})`);
  if (filter.operatingStatus) all.push(sql`apps.operating_status = any(${[...filter.operatingStatus]})`);
  if (filter.reviewStatus) all.push(sql`apps.review_status = any(${[...filter.reviewStatus]})`);
  if (filter.visibility) all.push(sql`apps.visibility = ${filter.visibility}`);
  if (filter.categoryId) all.push(sql`apps.category_id = ${filter.categoryId}`);
  if (filter.createdSince) all.push(sql`apps.created_at >= ${filter.createdSince}`);
  if (filter.isShared) all.push(sql`apps.visibility <> 'private'`);
  const named: RawBuilder<unknown>[] = [];
  if (filter.ownerId) named.push(sql`apps.owner_id = ${filter.ownerId}`);
  if (filter.ids) named.push(sql`apps.id = any(${[...filter.ids]}::uuid[])`);
  if (named.length > 0) all.push(sql`(${sql.join(named, sql` or `)})`);
  return sql.join(all, sql` and `);
}

interface Order {
  column: RawBuilder<unknown>;
  /** As text, without loss of precision. */
  key: RawBuilder<unknown>;
  type: string;
  direction: 'asc' | 'desc';
}

function sortOrder(sort: (typeof searchSorts)[number]): Order {
  if (sort === 'relevance')
    return { column: sql`hits.rank`, key: sql`hits.rank::text`, type: 'float8', direction: 'desc' };
  const name = sort.replace(/^-/, '') as keyof typeof sortColumns;
  const direction = sort.startsWith('-') ? 'desc' : 'asc';
  const column = sortColumns[name];
  if (name === 'slug' || name === 'name') return { column, key: column, type: 'text', direction };
  const key = sql`to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
  return { column, key, type: 'timestamptz', direction };
}

const sortColumns = {
  slug: sql`apps.slug`,
  name: sql`lower(apps.name)`,
  created_at: sql`apps.created_at`,
  updated_at: sql`apps.updated_at`,
} satisfies Record<Exclude<(typeof appSorts)[number], `-${string}`>, RawBuilder<unknown>>;
