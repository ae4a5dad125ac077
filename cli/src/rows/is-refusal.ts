import { ProblemError } from '@svc/contract/client.ts';
import type { ErrorCode } from '@svc/contract/error-codes.ts';

const refusals: ReadonlySet<string> = new Set<ErrorCode>([
  ...(['validation_failed', 'malformed_json', 'unknown_parameter', 'unknown_column'] as const),
  ...(['ambiguous_credentials', 'app_not_active', 'unique_violation', 'not_null_violation'] as const),
  ...(['payload_too_large', 'unsupported_media_type'] as const),
]);

/** Whether it says for sure that nothing of a batch was stored. A key that is in use says rather that it was. */
export function isRefusal(cause: unknown): boolean {
  return cause instanceof ProblemError && refusals.has(cause.problem.code);
}
