import { type ErrorCode, errorCodes } from '@svc/contract/error-codes.ts';

export const requestId = { 'x-request-id': 'req-1' };

export function problem(
  code: ErrorCode,
  more: Record<string, unknown> = {},
  headers: Record<string, string> = {},
): Response {
  const { status, means } = errorCodes[code];
  const body = {
    type: 'about:blank',
    title: code,
    status,
    detail: means,
    code,
    request_id: 'req-1',
    ...more,
  };
  return Response.json(body, {
    status,
    headers: { ...requestId, ...headers, 'content-type': 'application/problem+json' },
  });
}
