import { expect, test } from 'bun:test';
import { checkAvailability } from '@svc/contract/app-lists.shapes.ts';
import { replaceGrantScope } from '@svc/contract/grants.shapes.ts';
import { scopeEntriesMax } from '@svc/contract/grants.ts';
import { z } from 'zod';
import { parseBody, parseQuery } from './parse-input.ts';
import { Failure } from './problem.ts';

const body = z.strictObject({
  name: z.string().min(1).max(3).optional(),
  kind: z.enum(['a', 'b']).default('a'),
  count: z.int().min(1).max(9).optional(),
  list: z.array(z.boolean()).max(1).default([]),
  must: z.string(),
  id: z.uuid().optional(),
});

function detailsOf(given: object): Record<string, string> {
  try {
    parseBody(body, { must: '', ...given });
    return {};
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return Object.fromEntries((error.errors ?? []).map(({ field, detail }) => [field, detail]));
  }
}

test.each<[object, Record<string, string>]>([
  [{ must: undefined }, { must: 'must be given' }],
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
  [{ other: 1 }, { other: 'is not known here' }],
])('%j is refused in words of ours', (given, details) => {
  expect(detailsOf(given)).toEqual(details);
});

function refusalOf(parse: () => unknown) {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return { detail: error.detail, errors: error.errors };
  }
}

test('what is wrong with the whole names it, and each item a code that says what is wrong', () => {
  const entries = Array.from({ length: scopeEntriesMax + 1 }, (_, i) => `schema_${i}`);
  const detail = `must have at most ${scopeEntriesMax} entries`;
  for (const [field, body] of [
    ['body', entries],
    ['scope_resource_paths', { scope_resource_paths: entries }],
  ] as const) {
    expect(refusalOf(() => parseBody(replaceGrantScope.body, body))).toEqual({
      detail: `${field}: ${detail}`,
      errors: [{ field, code: 'too_big', detail }],
    });
  }
  expect(refusalOf(() => parseQuery(checkAvailability.query, new URLSearchParams()))).toEqual({
    detail: 'slug: must be given, or subdomain',
    errors: [{ field: 'slug', code: 'required', detail: 'must be given, or subdomain' }],
  });
  const some = z
    .strictObject({ a: z.string().optional() })
    .refine((it) => it.a !== undefined, 'is of no use');
  expect(refusalOf(() => parseBody(some, {}))).toEqual({
    detail: 'body: is of no use',
    errors: [{ field: 'body', code: 'invalid', detail: 'is of no use' }],
  });
  expect(refusalOf(() => parseBody(some, 'x'))).toMatchObject({
    errors: [{ field: 'body', code: 'invalid_type' }],
  });
});
