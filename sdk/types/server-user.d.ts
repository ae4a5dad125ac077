export interface AppUser {
    id: string;
    email: string;
    name: string;
    tenant: string;
    relation: 'owner' | 'co_owner' | 'member' | 'none';
}
export interface UserOptions {
    baseUrl?: string;
    appId?: string;
    keysUrl?: string;
    fetch?: (url: string, init: {
        signal: AbortSignal;
    }) => Promise<Response>;
    now?: () => number;
}
export type RequestLike = {
    headers: HeadersLike;
} | HeadersLike;
type HeadersLike = Pick<Headers, 'get'> | Readonly<Record<string, string | string[] | undefined>>;
/**
 * Returns null unless the header carries a valid signature of the platform, for this app, issued within the last
 * minute.
 */
export declare function userOf(request: RequestLike, options?: UserOptions): Promise<AppUser | null>;
export {};
