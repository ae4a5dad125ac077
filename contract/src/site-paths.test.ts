import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { foldedSitePath, sitePathClash, sitePathFault } from './site-paths.ts';

describe('a path of a release', () => {
  const refused: [string, string][] = [
    ['nothing at all', ''],
    ['a slash at the front', '/etc/passwd'],
    ['a step upwards', '../secret'],
    ['a step upwards in the middle', 'a/../b'],
    ['a part that is a dot', 'a/./b'],
    ['a step upwards in disguise', 'a/%2E%2e/b'],
    ['an empty part', 'a//b'],
    ['a slash at the end', 'a/'],
    ['a backslash', 'a\\b'],
    ['a drive letter', 'C:/windows'],
    ['a network path', '\\\\host\\share'],
    ['a NUL', 'a\u0000b'],
    ['a control character', 'a\u0007b'],
    ['a line break', 'a\nb'],
    ['a question mark', 'a?b'],
    ['a hash', 'a#b'],
    ['a device name', 'con'],
    ['a device name with an ending', 'files/NUL.txt'],
    ['a part that ends with a dot', 'a./b'],
    ['a part that ends with a space', 'a /b'],
    ['a part of more than 255 bytes', `${'ä'.repeat(128)}.txt`],
    ['more than 1024 bytes', Array.from({ length: 300 }, () => 'abc').join('/')],
    ['half a surrogate pair', 'a\ud800b'],
    ['decomposed letters', 'cafe\u0301.html'],
    ['a place that is the platform’s at every site', '.svc/auth'],
    ['such a place in other letters', '.SVC/auth'],
  ];
  for (const [what, path] of refused) {
    test(`is refused for ${what}`, () => expect(sitePathFault(path)).not.toBeNull());
  }

  const taken = [
    'index.html',
    'a/b/c.html',
    '.well-known/security.txt',
    'café/ü.html',
    'a b.html',

    'console.html',
    '.svc',
    '.svcs/a.html',
    'a/.svc/b.html',
    'ab:c.txt',
    '日本/語.html',
    '_next/static/x.js',
    "it's.html",
  ];
  for (const path of taken) test(`may be ${path}`, () => expect(sitePathFault(path)).toBeNull());

  test('has no segment that leads elsewhere if it is accepted', () => {
    const part = fc.constantFrom(
      '..',
      '.',
      '',
      'a',
      'B',
      '%2e%2e',
      '\\',
      '\u0000',
      'é',
      'e\u0301',
      ' ',
      '~',
      'x.html',
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 6 }), (parts) => {
        const path = parts.join('/');
        if (sitePathFault(path) !== null) return;
        expect(path.split('/').every((it) => it !== '' && it !== '.' && it !== '..')).toBe(true);
        expect(new URL(path, 'http://site.test/folder/').pathname.startsWith('/folder/')).toBe(true);
      }),
    );
  });
});

describe('two paths of a release clash', () => {
  const clashes: [string, string, string][] = [
    ['when only their case differs', 'a/Index.html', 'a/index.html'],
    ['when one spells ß as SS', 'straße.html', 'STRASSE.html'],
    ['when one spells ß as ẞ', 'straße.html', 'STRAẞE.html'],
    ['when they are the same in another form of Unicode', 'caf\u00e9', 'cafe\u0301'],
    ['when one is a file and the other a folder of that name', 'a', 'a/b.html'],
    ['when a folder and a file differ in case only', 'Docs/x.html', 'docs'],
    ['when they are the same', 'x', 'x'],
  ];
  for (const [when, one, other] of clashes) {
    test(when, () => {
      expect(sitePathClash([one, 'zzz', other])).not.toBeNull();
      expect(sitePathClash([other, 'zzz', one])).not.toBeNull();
    });
  }

  test('unless they are only siblings', () => {
    expect(sitePathClash(['a.html', 'a/b.html', 'ab', 'a b', 'a-b/c'])).toBeNull();
  });

  test('and folding is idempotent', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (path) => {
        expect(foldedSitePath(foldedSitePath(path))).toBe(foldedSitePath(path));
      }),
    );
  });
});
