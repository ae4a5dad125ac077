import { expect, test } from 'bun:test';
import { ProblemError } from '@svc/contract/client.ts';
import { tellAtField, untoldItems } from './told-at-field.ts';

test('what stands at a field is not said again below the form', () => {
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
  expect(untoldItems(error).map(({ field }) => field)).toEqual(['user_id', 'note']);
  expect(tellAtField(error, 'user_id')).toBe('is nobody');
  expect(tellAtField(error, 'name')).toBeUndefined();
  expect(untoldItems(error).map(({ field }) => field)).toEqual(['note']);
});
