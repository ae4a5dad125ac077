export interface Transport {
    exchange<T>(call: Call, read: Read<T>): Promise<T>;
}
export type Read<T> = (response: Response, release: () => void) => Promise<T>;
export interface Call {
    method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
    path: string;
    query?: readonly (readonly [name: string, value: string])[];
    headers?: Record<string, string>;
    body?: string | Uint8Array<ArrayBuffer>;
    /** `repeat`: the request is idempotent and may be retried after a network error. */
    onFault: 'repeat' | 'give_up';
    signal?: AbortSignal | undefined;
    isStream?: boolean;
}
export interface Credential {
    headers(): Promise<Record<string, string>>;
    renew?(refused: Record<string, string>): Promise<boolean>;
}
export interface TransportOptions {
    baseUrl: string;
    credential: Credential;
    fetch: (url: string, init: RequestInit) => Promise<Response>;
    timeoutMs: number;
    retriesMax: number;
}
export declare function createTransport(options: TransportOptions): Transport;
