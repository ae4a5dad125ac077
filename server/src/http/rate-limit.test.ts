import { describe, expect, test } from 'bun:test';
import { Failure } from '../core/problem.ts';
import { createRateLimit } from './rate-limit.ts';

function world() {
  let seconds = 0;
  const limit = createRateLimit(() => new Date(seconds * 1000));
  const ask = (key: string) => {
    try {
      limit(key, 3);
      return 'done';
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      return `${error.code} ${error.headers?.['retry-after']}`;
    }
  };
  const at = (second: number) => {
    seconds = second;
  };
  return { ask, at };
}

describe('a rate limit', () => {
  test('admits the given number of calls in any minute and sets Retry-After', () => {
    const { ask, at } = world();
    for (const second of [0, 10, 20]) {
      at(second);
      expect(ask('ada')).toBe('done');
    }
    at(59);
    expect(ask('ada')).toBe('rate_limited 1');
    at(60);
    expect(ask('ada')).toBe('done');
    expect(ask('ada')).toBe('rate_limited 10');
  });

  test('counts each caller separately', () => {
    const { ask } = world();
    for (let call = 0; call < 3; call++) expect(ask('ada')).toBe('done');
    expect([ask('ada'), ask('bob')]).toEqual(['rate_limited 60', 'done']);
  });
});
