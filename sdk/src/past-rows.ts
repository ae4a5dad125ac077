import { readJson } from './read-json.ts';

/** A change of a row, as far as the caller may read the row before and after it. */
export interface RowChange<Row> {
  version: string;
  action: 'insert' | 'update' | 'delete';
  at: string;
  /** The person and request of the change: visible to owners of the app, and for one's own changes. */
  by: string | null;
  requestId: string | null;
  before: Row | null;
  row: Row | null;
}

export interface RowChanges<Row> {
  data: RowChange<Row>[];
  page: number;
  perPage: number;
  hasMore: boolean;
}

export interface PageOptions {
  page?: number;
  perPage?: number;
  signal?: AbortSignal;
}

/** All rows that a request has deleted or updated; `by` for owners of the app, where several people have used its id. */
export interface RestoredRequest {
  requestId: string;
  by?: string;
}

export interface Restored {
  restored: number;
  ids: (string | number)[];
}

export const pageQuery = ({ page, perPage }: PageOptions): [string, string][] => [
  ...(page === undefined ? [] : [['page', String(page)] as [string, string]]),
  ...(perPage === undefined ? [] : [['per_page', String(perPage)] as [string, string]]),
];

interface Entries<Row> {
  data: (Omit<RowChange<Row>, 'requestId'> & { request_id: string | null })[];
  page: number;
  per_page: number;
  has_more: boolean;
}

export async function readChanges<Row>(response: Response): Promise<RowChanges<Row>> {
  const { data, page, per_page, has_more } = await readJson<Entries<Row>>(response);
  return {
    data: data.map(({ request_id, ...change }) => ({ ...change, requestId: request_id })),
    page,
    perPage: per_page,
    hasMore: has_more,
  };
}
