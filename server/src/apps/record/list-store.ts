import { type appSorts, searchHitsMax, type searchSorts } from '@svc/contract/app-lists.ts';
import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../../core/db.ts';
import type { PageWindow } from '../../core/paging.ts';
import { currentGroupIds } from '../../people/groups/groups.ts';
import { type AppRow, appColumns } from './store.ts';

interface SearchWords {
  text: string;
  /** Letters, marks and digits only: nothing that text search would parse as an operator. */
  words: readonly string[];
}

/** Similarity is searched only when fewer apps match by words. */
const wordMatchesEnough = 20;
const similarMax = 500;
/** PostgreSQL `ts_rank` normalization flag: divides the rank by the document length. */
const normalizeByLength = 2;
const trigramChars = 4;
const shortChars = 5;
const shortSimilarityMin = 0.45;

function hitsSql({ text, words }: SearchWords, condition: RawBuilder<unknown>): RawBuilder<unknown> {
  const prefixes = words.map((word) => `${word}:*`).join(' & ');
  const similar = similaritySql(splitBySimilarity(text, words), condition);
  return sql`with exact as materialized (
      select apps.id, 4::float8 as rank from svc.apps where apps.slug = ${text} and ${condition}
      union all
      select apps.id, 4 from svc.apps where lower(apps.name) = ${text} and ${condition}),
    named as materialized (
      select apps.id, 2 + ts_rank(apps.search_names, query.words, ${normalizeByLength})::float8 as rank
      from svc.apps, to_tsquery('simple', ${prefixes}) as query (words)
      where apps.search_names @@ query.words and ${condition} limit ${searchHitsMax}),
    described as materialized (
      select apps.id, 1 + ts_rank('{0.1, 0.2, 0.5, 1}', apps.search_words, query.words)::float8 as rank
      from svc.apps, to_tsquery('simple', ${prefixes}) as query (words)
      where (select count(*) < ${searchHitsMax} from named) and apps.search_words @@ query.words and ${condition}
      limit ${searchHitsMax}),
    ${similar.with}
    hits as materialized (
      select id, max(rank) as rank from (
        select * from exact union all select * from named union all select * from described ${similar.all}) as found
      group by id)`;
}

interface SimilarityTerms {
  similar: readonly string[];
  literal: readonly string[];
}

/** When no word is long enough, the whole text is compared. */
function splitBySimilarity(text: string, words: readonly string[]): SimilarityTerms {
  const isLong = (word: string) => [...word].length >= trigramChars;
  if (words.length > 1 && !words.some(isLong)) return { similar: [text], literal: [] };
  return { similar: words.filter(isLong), literal: words.filter((word) => !isLong(word)) };
}

function similaritySql({ similar, literal }: SimilarityTerms, condition: RawBuilder<unknown>) {
  if (similar.length === 0) return { with: sql``, all: sql`` };
  const matches = [
    ...similar.map((word) => sql`${word} <% apps.search_text`),
    ...literal.map((word) => sql`apps.search_words @@ to_tsquery('simple', ${`${word}:*`})`),
  ];
  const scores = similar.map((word) => sql`word_similarity(${word}, near.search_text)`);
  const shortWords = similar
    .filter((word) => [...word].length <= shortChars)
    .map((word) => sql`word_similarity(${word}, near.search_text) >= ${shortSimilarityMin}`);
  return {
    with: sql`near as materialized (
      select apps.id, apps.search_text from svc.apps
      where (select count(*) < ${wordMatchesEnough} from named) and (select count(*) < ${wordMatchesEnough} from described)
        and ${sql.join(matches, sql` and `)} and ${condition}
      limit ${similarMax}),
    similar_apps as (
      select id, ((${sql.join(scores, sql` + `)}) / ${similar.length}::int)::float8 as rank from near
      where ${shortWords.length === 0 ? sql`true` : sql.join(shortWords, sql` and `)}),`,
    all: sql`union all select * from similar_apps`,
  };
}

const wordsMax = 10;

export function searchWords(q: string): SearchWords {
  const text = q.normalize('NFC').toLowerCase().trim();
  const words = new Set(text.match(/[\p{L}\p{N}\p{M}]+/gu) ?? []);
  return { text, words: [...words].slice(0, wordsMax) };
}

export interface AppQuery {
  tenantId: string;
  visible: VisibilityFilter;
  filter: AppFilter;
  q?: SearchWords;
  sort: (typeof searchSorts)[number];
}

export type VisibilityFilter =
  | 'all'
  | { open: readonly AppRow['visibility'][]; ownerId: string; ids: readonly string[] };

interface AppFilter {
  record: readonly AppRow['record'][];
  deploymentStatus?: readonly string[];
  operatingStatus?: readonly string[];
  reviewStatus?: readonly string[];
  visibility?: AppRow['visibility'];
  categoryId?: string;
  createdSince?: Date;
  ownerId?: string;
  ids?: readonly string[];
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

interface SharedApp {
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
