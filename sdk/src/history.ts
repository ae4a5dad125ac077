import type { CallOptions, TableTarget } from './query.ts';
import { readJson } from './read-json.ts';

/** A change of a row, as far as the caller may read the row. */
export interface RowVersion<Row> {
  version: string;
  action: 'insert' | 'update' | 'delete';
  at: string;
  /** The user; null unless the caller owns the app or made the change. */
  by: string | null;
  /** What `restoreRequest` takes. */
  requestId: string | null;
  before: Row | null;
  row: Row | null;
}

export interface HistoryPage<Row> {
  data: RowVersion<Row>[];
  page: number;
  perPage: number;
  hasMore: boolean;
}

export interface HistoryOptions extends CallOptions {
  page?: number;
  perPage?: number;
}

export interface Restored {
  restored: number;
  ids: (string | number | null)[];
}

interface Answer<Row> {
  data: (Omit<RowVersion<Row>, 'requestId'> & { request_id: string | null })[];
  page: number;
  per_page: number;
  has_more: boolean;
}

export async function listVersions<Row>(
  { transport }: TableTarget,
  path: string,
  { page, perPage, signal }: HistoryOptions,
): Promise<HistoryPage<Row>> {
  const query: [string, string][] = [];
  if (page !== undefined) query.push(['page', String(page)]);
  if (perPage !== undefined) query.push(['per_page', String(perPage)]);
  const answer = await transport.exchange(
    { method: 'GET', path, query, onFault: 'repeat', signal },
    readJson<Answer<Row>>,
  );
  const data = answer.data.map(({ request_id: requestId, ...entry }) => ({ ...entry, requestId }));
  return { data, page: answer.page, perPage: answer.per_page, hasMore: answer.has_more };
}
