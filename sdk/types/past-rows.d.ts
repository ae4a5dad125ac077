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
export declare const pageQuery: ({ page, perPage }: PageOptions) => [string, string][];
export declare function readChanges<Row>(response: Response): Promise<RowChanges<Row>>;
