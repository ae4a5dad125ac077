import { expect, test } from 'bun:test';
import { z } from 'zod';
import { parseBody } from './parse-input.ts';
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
