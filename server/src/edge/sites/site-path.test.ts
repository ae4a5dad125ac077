import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { readPath } from './path-pattern.ts';
import { writePath } from './resolve-path.ts';

const refused: Record<string, readonly string[]> = {
  'a part that leads upwards': ['/..', '/../a', '/a/../b', '/a/..', '/.', '/a/./b'],
  'dots that are encoded': ['/%2e%2e/a', '/%2E%2e/', '/a/%2e%2e%2fb', '/.%2e/a', '/%2e', '/a/%2E/b'],
  'a slash that is encoded': ['/a%2fb', '/a%2Fb', '/%2f', '/%2f%2fhost', '/a/%2f'],
  'a backslash, raw or encoded': ['/a\\b', '/\\host', '/..\\a', '/a%5cb', '/%5C%5Chost%5Cshare'],
  'NUL and other control characters': [
    '/a%00b',
    '/a%00.html',
    '/a%0d%0aSet-Cookie:%20b',
    '/%1f',
    '/%7f',
    '/%c2%85',
  ],
  'an empty part': ['//', '//host', '//host/path', '/a//b', '/a//', '///'],
  'what is no encoding': ['/%', '/%2', '/%zz', '/%u0041', '/a%'],
  'bytes that are no UTF-8': ['/%ff', '/%c0%af', '/%c0%ae%c0%ae/', '/%ed%a0%80', '/%e0%80%af', '/%f8%80'],
  'what is not printable as it was sent': ['/a b', '/a\tb', '/ä', '/a\u0000', '/\ufeff', '/a\r\nb'],
  'line ends of Unicode, and the mark of byte order': ['/%e2%80%a8', '/%e2%80%a9', '/%ef%bb%bf'],
  'what does not begin with a slash': ['', '*', 'a', 'http://host/', 'C:/a', '?a', '..'],
};

describe('a path is refused that has', () => {
  for (const [what, paths] of Object.entries(refused))
    test.each([...paths])(`${what}: %j`, (path) => expect(readPath(path)).toBeNull());
});

describe('a path is decoded once', () => {
  test.each([
    ['/%252e%252e/a', '%2e%2e/a'],
    ['/%252f', '%2f'],
    ['/%2500', '%00'],
    ['/a%2520b', 'a%20b'],
  ])('%s is decoded to %s', (raw, text) => expect(readPath(raw)?.text).toBe(text));

  test('drive, device and hidden names are ordinary names', () => {
    expect(readPath('/C:/windows')?.text).toBe('C:/windows');
    expect(readPath('/con')?.text).toBe('con');
    expect(readPath('/.git/config')?.text).toBe('.git/config');
    expect(readPath('/...')?.text).toBe('...');
  });

  test('an encoded # or ? belongs to the name', () => {
    expect(readPath('/a%23b%3fc')?.text).toBe('a#b?c');
  });

  test('names are normalized to NFC', () => {
    expect(readPath('/caf%c3%a9')?.text).toBe('café');
    expect(readPath('/cafe%cc%81')?.text).toBe('caf\u00e9');
  });

  test('letter case is preserved', () => {
    expect(readPath('/A%41a')?.text).toBe('AAa');
  });
});

test('any path that is read is written in one spelling that is safe in a header', () => {
  const piece = fc.oneof(
    fc.constantFrom('/', '//', '.', '..', '%2e', '%2f', '%5c', '\\', '%00', '%', 'a', 'ä', '?', '#', ' '),
    fc.string({ maxLength: 4 }),
    fc.string({ unit: 'grapheme', maxLength: 3 }).map(encodeSafely),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      const path = readPath(`/${pieces.join('')}`);
      if (!path) return;
      const written = writePath(path);
      expect(written).toMatch(/^\/(?:[A-Za-z0-9%!'()*._~-]+(?:\/[A-Za-z0-9%!'()*._~-]+)*\/?)?$/);
      expect(readPath(written)).toEqual(path);
      for (const segment of path.segments) {
        expect(['', '.', '..']).not.toContain(segment);
        expect(segment).not.toMatch(/[/\\\p{Cc}]/u);
        expect(segment.normalize('NFC')).toBe(segment);
      }
    }),
    { numRuns: 3_000 },
  );
});

function encodeSafely(text: string): string {
  return text.isWellFormed() ? encodeURIComponent(text) : '';
}
