import type { FileValue } from './contract/rows.js';
import type { CallOptions, TableTarget } from './query.js';
export type { FileValue } from './contract/rows.js';
export interface UploadOptions extends CallOptions {
    /** The name of a `File` by default. */
    name?: string;
    /** The type of the blob by default. */
    type?: string;
}
/** The value for the column. */
export declare function uploadFile({ transport, path }: TableTarget, column: string, blob: Blob, { name, type, signal }: UploadOptions): Promise<FileValue>;
