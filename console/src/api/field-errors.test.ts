import { expect, test } from 'bun:test';
import { ProblemError } from '@svc/contract/client.ts';
import { remainingErrors, takeFieldError } from './field-errors.ts';

test('an error shown at a field is not repeated below the form', () => {
  const error = new ProblemError(
    {
      type: 'about:blank',
      title: 'Validation failed',
      status: 400,
      code: 'validation_failed',
      detail: 'The input does not fit.',
      request_id: 'r',
      errors: [
        { field: 'user_id', code: 'unknown_user', detail: 'is nobody' },
        { field: 'note', code: 'too_long', detail: 'is too long' },
      ],
    },
    null,
  );
  expect(remainingErrors(error).map(({ field }) => field)).toEqual(['user_id', 'note']);
  expect(takeFieldError(error, 'user_id')).toBe('is nobody');
  expect(takeFieldError(error, 'name')).toBeUndefined();
  expect(remainingErrors(error).map(({ field }) => field)).toEqual(['note']);
});
