import type { ErrorCode } from './error-codes.js';
export interface Problem {
    type: string;
    title: string;
    status: number;
    detail: string;
    code: ErrorCode;
    request_id: string;
    errors?: ProblemItem[];
    /** Only with `grant_missing`: a page of the console where the caller can request the grant. */
    request_url?: string;
}
export interface ProblemItem {
    field?: string;
    column?: string;
    line?: number;
    /** Index of the operation in an atomic batch. */
    operation?: number;
    code: string;
    detail: string;
}
export declare class ProblemError extends Error {
    readonly problem: Problem;
    readonly retryAfterSeconds: number | null;
    constructor(problem: Problem, retryAfterSeconds: number | null);
}
export declare class UnexpectedAnswerError extends Error {
    readonly status: number;
    readonly url: string;
    readonly requestId: string | null;
    constructor(status: number, url: string, requestId: string | null);
}
export declare function answerError(response: Response, url: string, body: unknown): Error;
