import { expect, test } from 'bun:test';
import { ProblemError } from '@svc/contract/client.ts';
import { type ErrorCode, errorCodes } from '@svc/contract/error-codes.ts';
import { CliError } from '../framework/errors.ts';
import { isRefusal } from './send-batch.ts';

const problem = (code: ErrorCode) => {
  const { status, means } = errorCodes[code];
  return new ProblemError(
    { type: 'about:blank', title: code, status, detail: means, code, request_id: 'r' },
    null,
  );
};

test('only the error code decides whether a batch was certainly not stored', () => {
  for (const code of [
    'validation_failed',
    'unique_violation',
    'payload_too_large',
    'app_not_active',
  ] as const)
    expect([code, isRefusal(problem(code))]).toEqual([code, true]);
  // The first is a 409 like `unique_violation`, but means that the batch may be stored.
  for (const code of ['idempotency_in_progress', 'idempotency_mismatch', 'internal', 'unavailable'] as const)
    expect([code, isRefusal(problem(code))]).toEqual([code, false]);
  expect(isRefusal(new CliError('no_connection', 'No answer.'))).toBe(false);
});
