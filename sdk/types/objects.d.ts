import type { CallOptions } from './query.js';
import type { Transport } from './transport.js';
export interface StoredObject {
    key: string;
    size: number;
    content_type: string;
    sha256: string;
    created_at: string;
    updated_at: string;
}
export interface ObjectList {
    items: StoredObject[];
    /** Prefixes that `delimiter` groups, like folders. */
    prefixes: string[];
    nextCursor: string | null;
}
export interface ListObjectsOptions extends CallOptions {
    prefix?: string;
    delimiter?: string;
    limit?: number;
    cursor?: string;
}
export interface PutOptions extends CallOptions {
    contentType?: string;
}
export interface ObjectUrl extends StoredObject {
    url: string;
    expires_at: string;
}
export type ObjectBody = string | Blob | ArrayBuffer | Uint8Array<ArrayBuffer>;
interface ObjectsDeps {
    transport: Transport;
    baseUrl: string;
    path: string;
    fetch: (url: string, init: RequestInit) => Promise<Response>;
    timeoutMs: number;
}
/** The objects of the app's storage, for programs that act for the app. People who are signed in to the app cannot use it. */
export declare class Objects {
    #private;
    constructor(deps: ObjectsDeps);
    list(options?: ListObjectsOptions): Promise<ObjectList>;
    /** Replaces an object with the same key. */
    put(key: string, body: ObjectBody, options?: PutOptions): Promise<StoredObject>;
    /** The response is a stream: `await response.text()`, `.bytes()`, `.json()` … */
    get(key: string, options?: CallOptions): Promise<Response>;
    /** A URL that lets anybody download the object, for at most an hour. */
    url(key: string, options?: CallOptions & {
        expiresIn?: number;
    }): Promise<ObjectUrl>;
    delete(key: string, options?: CallOptions): Promise<void>;
}
export {};
