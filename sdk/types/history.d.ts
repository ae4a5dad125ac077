import type { CallOptions, TableTarget } from './query.js';
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
export declare function listVersions<Row>({ transport }: TableTarget, path: string, { page, perPage, signal }: HistoryOptions): Promise<HistoryPage<Row>>;
