import { type SelectQueryBuilder, sql } from 'kysely';

export interface PageQuery {
  page: number;
  per_page: number;
}

export interface PageWindow {
  limit: number;
  offset: number;
}

export function pageWindow(query: PageQuery): PageWindow {
  return { limit: query.per_page, offset: (query.page - 1) * query.per_page };
}

export async function fetchPage<DB, T extends keyof DB, O>(
  query: SelectQueryBuilder<DB, T, O>,
  { limit, offset }: PageWindow,
) {
  return { rows: await query.limit(limit).offset(offset).execute(), total: await countRows(query) };
}

export async function countRows<DB, T extends keyof DB, O>(query: SelectQueryBuilder<DB, T, O>) {
  const count = query.clearSelect().clearOrderBy().select(sql<number>`count(*)`.as('total'));
  return ((await count.executeTakeFirstOrThrow()) as { total: number }).total;
}

export function paginate<T>(query: PageQuery, all: readonly T[]) {
  const { limit, offset } = pageWindow(query);
  return toPage(query, all.slice(offset, offset + limit), all.length);
}

export function toPage<T>(query: PageQuery, items: T[], total: number) {
  return { items, page: query.page, per_page: query.per_page, total };
}
