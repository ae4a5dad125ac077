/** `page` and `per_page` of a request, and the envelope of the answer. */
export interface PageQuery {
  page: number;
  per_page: number;
}

export interface Window {
  limit: number;
  offset: number;
}

export function windowOf(query: PageQuery): Window {
  return { limit: query.per_page, offset: (query.page - 1) * query.per_page };
}

/** A page of a list that is short by nature and is at hand whole. */
export function pageOf<T>(query: PageQuery, all: readonly T[]) {
  const { limit, offset } = windowOf(query);
  return pageAnswer(query, all.slice(offset, offset + limit), all.length);
}

export function pageAnswer<T>(query: PageQuery, items: T[], total: number) {
  return { items, page: query.page, per_page: query.per_page, total };
}
