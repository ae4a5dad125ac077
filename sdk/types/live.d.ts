import type { TableTarget } from './query.js';
export interface LiveChange<Row> {
    /** All rows after the change, in their order. */
    rows: readonly Row[];
    /** Empty when the rows were loaded anew. */
    changes: readonly ({
        event: 'insert' | 'update';
        row: Row;
    } | {
        event: 'delete';
        id: string | number;
    })[];
}
interface Listeners<Row> {
    change: (change: LiveChange<Row>) => void;
    /** The feed has ended for good, such as by a right that was taken away; without an error it was closed. */
    close: (error: Error | null) => void;
}
export interface LiveQuery {
    target: TableTarget;
    query: readonly (readonly [string, string])[];
    sort: readonly string[];
    /** Under which the id is shown. */
    idKey: string;
    signal?: AbortSignal | undefined;
}
/**
 * Rows that follow the table. `rows` is replaced with every change and never altered, as React expects it. Lost connections are
 * opened again without losing a change.
 */
export declare class LiveRows<Row extends object> implements AsyncIterable<LiveChange<Row>> {
    #private;
    rows: readonly Row[];
    status: 'connecting' | 'live' | 'closed';
    /** Resolves when the rows are there; rejects if the feed cannot be opened. */
    readonly ready: Promise<void>;
    constructor(query: LiveQuery);
    /** Returns how to stop listening. */
    on<Name extends keyof Listeners<Row>>(name: Name, listener: Listeners<Row>[Name]): () => void;
    close(): void;
    [Symbol.asyncIterator](): AsyncGenerator<LiveChange<Row>, void, undefined>;
}
export {};
