import type { Plan } from './contract/plan.js';
import { type BatchOptions, type BatchResult } from './batches.js';
import { type Scalar } from './encode.js';
import { type FileValue, type UploadOptions } from './files.js';
import { type Filter, type ManyChanged, type ManyOptions } from './many-rows.js';
import { type PageOptions, type Restored, type RestoredRequest, type RowChanges } from './past-rows.js';
import { type CallOptions, Query } from './query.js';
import { type Checked, type Selected, type Selections } from './select.js';
export type { Plan } from './contract/plan.js';
export type { BatchOptions } from './batches.js';
export type Id = Scalar;
export interface Found<Row> {
    row: Row;
    etag: string;
}
interface GetOptions<S> extends CallOptions {
    select?: S;
}
/** The row as it is, or what is selected. */
type Got<Row, Relations, S extends readonly unknown[]> = [S] extends [never] ? Row : Selected<Row, Relations, S[number]>;
export interface InsertOptions extends CallOptions {
    returning?: 'minimal';
    /** Makes a repeated insert return the first result, which also allows retries after network errors. */
    idempotencyKey?: string;
}
export interface UpdateOptions extends CallOptions {
    /** Fails with `precondition_failed` if the row has changed since it was read. */
    ifMatch?: string;
}
/** Rights of the caller on a table, and their reason. */
export interface OwnAccess {
    actions: ('read' | 'insert' | 'update' | 'delete' | 'export')[];
    columns: {
        name: string;
        access: 'clear' | 'masked';
        mask: string | null;
    }[];
    /** The visible rows, in words. */
    filter: string;
    because: {
        kind: string;
        id: string;
        name: string;
    }[];
    /** Why nothing is visible; null if something is. */
    reason: string | null;
    /** Next step for the caller. */
    next: string | null;
}
interface DryRun {
    dryRun: true;
}
export declare class Table<Row extends object, Insert extends object, Update extends object, Relations = unknown> extends Query<Row, Row, Relations> {
    #private;
    /** The caller's own access: also where the table shows nothing, with the reason. */
    access(options?: CallOptions): Promise<OwnAccess>;
    /** `get(id, { select: ['title', { author: ['name'] }] })`: with the columns and the related rows that are selected. */
    get<const S extends Selections<Row> = never>(id: Id, options: GetOptions<S & Checked<Row, Relations, S>> & {
        ifNoneMatch: string;
    }): Promise<Found<Got<Row, Relations, S>> | {
        row: null;
        etag: string;
    }>;
    get<const S extends Selections<Row> = never>(id: Id, options?: GetOptions<S & Checked<Row, Relations, S>> & {
        ifNoneMatch?: undefined;
    }): Promise<Found<Got<Row, Relations, S>>>;
    insert(row: Insert, options: InsertOptions & DryRun): Promise<{
        plan: Plan;
    }>;
    insert(row: Insert, options: InsertOptions & {
        returning: 'minimal';
    }): Promise<{
        id: string;
        etag: string;
    }>;
    insert(row: Insert, options?: InsertOptions): Promise<Found<Row>>;
    /**
     * Each batch is stored completely or not at all, and its idempotency key makes resending safe. A rejected batch
     * throws `SvcBatchError`.
     */
    insertMany(rows: Iterable<Insert> | AsyncIterable<Insert>, options?: BatchOptions): Promise<BatchResult>;
    update(id: Id, changes: Update, options: UpdateOptions & DryRun): Promise<{
        plan: Plan;
    }>;
    update(id: Id, changes: Update, options?: UpdateOptions): Promise<Found<Row>>;
    delete(id: Id, options: UpdateOptions & DryRun): Promise<{
        plan: Plan;
    }>;
    delete(id: Id, options?: UpdateOptions): Promise<void>;
    /** Updates all rows that match, in one transaction: `todos.updateMany(['done', 'is', true], { archived: true })`. */
    updateMany(filter: Filter<Row>, changes: Update, options: ManyOptions & DryRun): Promise<{
        plan: Plan;
    }>;
    updateMany(filter: Filter<Row>, changes: Update, options?: ManyOptions): Promise<ManyChanged<Row> & {
        updated: number;
    }>;
    /** Deletes all rows that match, in one transaction. */
    deleteMany(filter: Filter<Row>, options: ManyOptions & DryRun): Promise<{
        plan: Plan;
    }>;
    deleteMany(filter: Filter<Row>, options?: ManyOptions): Promise<ManyChanged<Row> & {
        deleted: number;
    }>;
    /** Uploads a file for a column: `pets.insert({ name: 'Rex', photo: await pets.upload('photo', blob) })`. */
    upload(column: keyof Row & string, blob: Blob, options?: UploadOptions): Promise<FileValue>;
    /** The file of a row, for those who may read the value. */
    download(id: Id, column: keyof Row & string, options?: CallOptions): Promise<Blob>;
    /** The changes of a row, newest first. */
    history(id: Id, options?: PageOptions): Promise<RowChanges<Row>>;
    /** Deleted rows that can be restored, last deleted first: each is `before` of its entry. */
    trash(options?: PageOptions): Promise<RowChanges<Row>>;
    /** Restores a deleted row, or all rows that a request has deleted or updated. */
    restore(what: Id | RestoredRequest, options: CallOptions & DryRun): Promise<{
        plan: Plan;
    }>;
    restore(what: Id | RestoredRequest, options?: CallOptions): Promise<Restored>;
}
