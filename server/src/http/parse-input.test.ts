import { expect, test } from 'bun:test';
import { checkAvailability } from '@svc/contract/app-lists.shapes.ts';
import { replaceGrantScope } from '@svc/contract/grants.shapes.ts';
import { scopeEntriesMax } from '@svc/contract/grants.ts';
import { z } from 'zod';
import { Failure } from '../core/problem.ts';
import { parseBody, parseQuery } from './parse-input.ts';

const body = z.strictObject({
  name: z.string().min(1).max(3).optional(),
  kind: z.enum(['a', 'b']).default('a'),
  count: z.int().min(1).max(9).optional(),
  list: z.array(z.boolean()).max(1).default([]),
  must: z.string(),
  id: z.uuid().optional(),
});

function errorDetails(input: object): Record<string, string> {
  try {
    parseBody(body, { must: '', ...input });
    return {};
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return Object.fromEntries((error.errors ?? []).map(({ field, detail }) => [field, detail]));
  }
}

test.each<[object, Record<string, string>]>([
  [{ must: undefined }, { must: 'is required' }],
  [{ must: 5 }, { must: 'must be a text' }],
  [{ must: null }, { must: 'must be a text' }],
  [{ name: '' }, { name: 'must not be empty' }],
  [{ name: 'abcd' }, { name: 'must have at most 3 characters' }],
  [{ kind: 'c' }, { kind: 'must be one of a, b' }],
  [{ count: 0 }, { count: 'must be at least 1' }],
  [{ count: 10 }, { count: 'must be at most 9' }],
  [{ count: 1.5 }, { count: 'must be a whole number' }],
  [{ list: [true, false] }, { list: 'must have at most 1 items' }],
  [{ list: [1] }, { 'list.0': 'must be true or false' }],
  [{ list: 'x' }, { list: 'must be a list' }],
  [{ id: 'x' }, { id: 'must be a UUID' }],
  [{ other: 1 }, { other: 'is not a known field' }],
])('%j gets an error in plain words', (body, details) => {
  expect(errorDetails(body)).toEqual(details);
});

function failureDetails(parse: () => unknown) {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return { detail: error.detail, errors: error.errors };
  }
}

test('an error of the whole body has the field "body", and each item a code', () => {
  const entries = Array.from({ length: scopeEntriesMax + 1 }, (_, i) => `schema_${i}`);
  const detail = `must have at most ${scopeEntriesMax} entries`;
  for (const [field, body] of [
    ['body', entries],
    ['scope_resource_paths', { scope_resource_paths: entries }],
  ] as const) {
    expect(failureDetails(() => parseBody(replaceGrantScope.body, body))).toEqual({
      detail: `${field}: ${detail}`,
      errors: [{ field, code: 'too_big', detail }],
    });
  }
  expect(failureDetails(() => parseQuery(checkAvailability.query, new URLSearchParams()))).toEqual({
    detail: 'slug: is required unless subdomain is set',
    errors: [{ field: 'slug', code: 'required', detail: 'is required unless subdomain is set' }],
  });
  const some = z
    .strictObject({ a: z.string().optional() })
    .refine((it) => it.a !== undefined, 'is of no use');
  expect(failureDetails(() => parseBody(some, {}))).toEqual({
    detail: 'body: is of no use',
    errors: [{ field: 'body', code: 'invalid', detail: 'is of no use' }],
  });
  expect(failureDetails(() => parseBody(some, 'x'))).toMatchObject({
    errors: [{ field: 'body', code: 'invalid_type' }],
  });
});
