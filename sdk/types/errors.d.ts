import type { ErrorCode } from './contract/error-codes.js';
import type { ProblemItem } from './contract/problem.js';
/** `unexpected_answer`: the response is not from this service, for example from a proxy or a wrong URL. */
export type SvcErrorCode = ErrorCode | 'unexpected_answer';
export interface SvcErrorFacts {
    code: SvcErrorCode;
    status: number;
    detail: string;
    errors: readonly ProblemItem[];
    requestId: string | null;
    retryAfter: number | null;
    /** Only with `grant_missing`: a page where the person can request access. */
    requestUrl: string | null;
}
export declare class SvcError extends Error implements SvcErrorFacts {
    readonly code: SvcErrorCode;
    readonly status: number;
    readonly detail: string;
    readonly errors: readonly ProblemItem[];
    readonly requestId: string | null;
    readonly retryAfter: number | null;
    readonly requestUrl: string | null;
    constructor(facts: SvcErrorFacts, options?: ErrorOptions);
}
/** Line numbers count across all batches. Earlier batches stay stored. */
export declare class SvcBatchError extends SvcError {
    readonly inserted: number;
    constructor(cause: SvcError, { inserted, linesBefore }: {
        inserted: number;
        linesBefore: number;
    });
}
/** No complete response: the request may or may not have taken effect. */
export declare class SvcNetworkError extends Error {
    constructor(message: string, options?: ErrorOptions);
}
export declare function responseError(response: {
    status: number;
    headers: Headers;
}, text: string): SvcError;
export declare function notSignedInError(): SvcError;
