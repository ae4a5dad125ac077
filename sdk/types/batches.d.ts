import type { CallOptions, TableTarget } from './query.js';
export interface BatchOptions extends CallOptions {
    /** Column or columns of a unique constraint that identify existing rows. */
    onConflict?: string | readonly string[];
    /**
     * `merge` updates an existing row, `ignore` leaves it unchanged. Without a resolution, a conflict rejects the
     * batch.
     */
    resolution?: 'merge' | 'ignore';
    /** Rows per batch: 1,000 by default, at most 10,000. */
    batchSize?: number;
    onBatch?: (inserted: number) => void;
}
export interface BatchResult {
    inserted: number;
    updated: number;
    ids: (string | number | null)[];
}
export declare function insertBatches(target: TableTarget, rows: Iterable<object> | AsyncIterable<object>, options: BatchOptions): Promise<BatchResult>;
