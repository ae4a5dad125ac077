import type { ErrorCode } from './error-codes.ts';

/** The body of every error: RFC 9457 `application/problem+json`. Compare `code`; the text is for people. */
export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  code: ErrorCode;
  request_id: string;
  errors?: ProblemItem[];
}

export interface ProblemItem {
  field?: string;
  column?: string;
  line?: number;
  code: string;
  detail: string;
}
