import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { compilePattern, patternCharsMax } from './patterns.ts';

function compiled(source: string) {
  const result = compilePattern(source);
  if (!result.ok) throw new Error(`${source}: ${result.detail}`);
  return result.pattern;
}

describe('a pattern', () => {
  test.each([
    ['^[a-z]{2}(-[A-Z]{2})?$', ['de', 'de-AT'], ['DE', 'de-', 'de\n', 'xde']],
    ['a', ['cat', 'a'], ['', 'b']],
    ['^a|b$', ['ax', 'xb', 'ab'], ['xa', 'bx', '']],
    ['^.$', ['x', '😀', 'ä'], ['', '\n', '\u2028', 'xx']],
    ['^[^a-c]$', ['d', '\n', '😀'], ['a', 'c', '']],
    ['^\\d+\\.\\d{2}$', ['1.50', '0.00'], ['1,50', '1.5', '١.50']],
    ['^[\\w.+-]+@[\\w-]+\\.[\\w.]+$', ['a.b+c@d-e.org'], ['a@b', '@b.c']],
    ['^(?:ab|c){1,3}$', ['ab', 'cab', 'ccc'], ['', 'cccc', 'a']],
    ['^\\s*$', ['', ' \t\n\u00a0\ufeff'], ['x']],
    ['^\\u00e4$', ['ä'], ['a']],
  ])('%s', (source, good, bad) => {
    const { test: matches } = compiled(source);
    for (const text of good) expect([text, matches(text)]).toEqual([text, true]);
    for (const text of bad) expect([text, matches(text)]).toEqual([text, false]);
  });

  test.each([
    '',
    '(',
    ')',
    '[',
    'a{',
    'a{2,1}',
    'a{256}',
    '*',
    'a**',
    'a*?',
    '(a)\\1',
    '(?=a)',
    '(?<n>a)',
    '\\b',
    '\\p{L}',
    '\\x41',
    'a^b',
    'a$b',
    '[b-a]',
    '\\',
    '\\u00',
    '\\u0000',
    '((a{200}){200}){200}',
    'a'.repeat(patternCharsMax + 1),
  ])('%p is refused', (source) => {
    expect(compilePattern(source).ok).toBe(false);
  });

  test('takes linear time where a backtracking matcher takes exponential time', () => {
    const { test: matches } = compiled('^(a+)+(a|aa)*$');
    const started = performance.now();
    expect(matches(`${'a'.repeat(200_000)}b`)).toBe(false);
    expect(matches('a'.repeat(200_000))).toBe(true);
    expect(performance.now() - started).toBeLessThan(5_000);
  });
});

const letters = fc.constantFrom('a', 'b', 'é', '😀', '\n', '-');
const { pattern: anyPattern } = fc.letrec<{ pattern: string; piece: string; atom: string }>((tie) => ({
  pattern: fc.array(tie('piece'), { minLength: 1, maxLength: 3 }).map((pieces) => pieces.join('')),
  piece: fc
    .tuple(tie('atom'), fc.constantFrom('', '', '*', '+', '?', '{2}', '{0,2}', '{1,}'))
    .map(([atom, quantifier]) => atom + quantifier),
  atom: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom(
      'a',
      'b',
      'é',
      '😀',
      '.',
      '[ab]',
      '[^a]',
      '\\w',
      '\\W',
      '\\s',
      '\\d',
      '[a-é-]',
      '[^😀\\n]',
    ),
    fc.tuple(tie('pattern'), tie('pattern')).map(([one, other]) => `(${one}|${other})`),
    tie('pattern').map((inner) => `(?:${inner})`),
  ),
}));

test('matches as a regular expression of JavaScript does', () => {
  const anchor = fc.boolean();
  fc.assert(
    fc.property(
      anyPattern,
      anchor,
      anchor,
      fc.array(letters, { maxLength: 6 }),
      (inner, start, end, chars) => {
        const source = `${start ? '^' : ''}${inner}${end ? '$' : ''}`;
        const result = compilePattern(source);
        fc.pre(result.ok);
        const text = chars.join('');
        if (result.ok)
          expect([source, text, result.pattern.test(text)]).toEqual([
            source,
            text,
            new RegExp(source, 'u').test(text),
          ]);
      },
    ),
    { numRuns: 1_000 },
  );
});
