import { errorCodes } from '@svc/contract/error-codes.ts';
import type { Failure } from '../../core/problem.ts';

/** RFC 7644 §3.12. */
type ScimType =
  | 'invalidFilter'
  | 'tooMany'
  | 'uniqueness'
  | 'mutability'
  | 'invalidSyntax'
  | 'invalidPath'
  | 'noTarget'
  | 'invalidValue';

export class ScimError extends Error {
  constructor(
    readonly status: number,
    readonly scimType: ScimType | null,
    detail: string,
  ) {
    super(detail);
    this.name = 'ScimError';
  }
}

export const invalidValueError = (detail: string) => new ScimError(400, 'invalidValue', detail);

const scimTypes: Partial<Record<Failure['code'], ScimType>> = {
  unique_violation: 'uniqueness',
  validation_failed: 'invalidValue',
  malformed_json: 'invalidSyntax',
  limit_reached: 'tooMany',
};

export function toScimError({ code, detail }: Failure): ScimError {
  const { status, means } = errorCodes[code];
  return new ScimError(status, scimTypes[code] ?? null, detail ?? means);
}

export const errorBody = ({ status, scimType, message }: ScimError) => ({
  schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'],
  ...(scimType ? { scimType } : {}),
  detail: message,
  status: String(status),
});

export function errorResponse(error: ScimError, more: Record<string, string> = {}): Response {
  const { status } = error;
  const headers: Record<string, string> = { 'content-type': scimMediaType, 'cache-control': 'no-store' };
  if (status === 401) headers['www-authenticate'] = 'Bearer';
  if (status === 429 || status === 503) headers['retry-after'] = '1';
  return new Response(JSON.stringify(errorBody(error)), { status, headers: { ...headers, ...more } });
}

export const scimMediaType = 'application/scim+json';
