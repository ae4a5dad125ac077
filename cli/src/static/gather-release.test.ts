import { afterAll, describe, expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import { releaseFileBytesMax } from '@svc/contract/site-paths.ts';
import { folderWith, newFolder, problemOf, removeFolders } from '../../testing/run-svc.ts';
import { checkSiteFiles } from './gather-release.ts';
import { type SiteFile, walkSite } from './site-files.ts';

afterAll(removeFolders);

describe('the files of a site', () => {
  const check = (folder: string) => problemOf(() => checkSiteFiles('site', walkSite(folder).files));
  const holds = (folder: string, names: number) => readdirSync(folder).length === names;

  test('must be at least one', () => {
    expect(check(newFolder()).code).toBe('validation_failed');
    expect(check(folderWith({ '.env': 'SECRET=1' })).code).toBe('validation_failed');
  });

  test('must have valid paths; all errors are named', () => {
    const folder = folderWith({
      'what?.html': '',
      'a#b': '',
      'con.txt': '',
      'back\\slash': '',
      'ok.html': '',
    });
    const { code, errors } = check(folder);
    expect([code, errors?.map(({ field }) => field)]).toEqual([
      'invalid_path',
      ['a#b', 'back\\slash', 'con.txt', 'what?.html'],
    ]);
  });

  test.each([
    ['About.html', 'about.html'],
    ['straße', 'STRASSE'],
    ['a', 'A/b'],
  ])('must not differ only by case: %s and %s', (one, other) => {
    const folder = folderWith({ [one]: '', [other]: '' });
    // On a case-insensitive file system there is only one of the files.
    if (!holds(folder, 2)) return;
    const { code, detail } = check(folder);
    expect([code, detail.includes(one), detail.includes(other)]).toEqual(['path_collision', true, true]);
  });

  test('must not differ only by Unicode normalization', () => {
    const folder = folderWith({ 'caf\u00e9.html': 'composed', 'cafe\u0301.html': 'decomposed' });
    if (!holds(folder, 2)) return;
    const problem = check(folder);
    expect([problem.code, problem.detail.includes('NFC')]).toEqual(['path_collision', true]);
  });

  test('get names in Unicode NFC', () => {
    const { files } = walkSite(folderWith({ 'cafe\u0301/e\u0301.html': 'x' }));
    expect(files.map(({ path }) => path)).toEqual(['caf\u00e9/\u00e9.html']);
    expect(() => checkSiteFiles('site', files)).not.toThrow();
  });

  test('must each, and together, not exceed the size limits of a release', () => {
    const sized = (sizes: number[]): SiteFile[] =>
      sizes.map((size, at) => ({
        path: `f${at}`,
        absolutePath: `f${at}`,
        size,
        identity: { dev: 1, ino: at, size, mtimeMs: 1 },
      }));
    const large = problemOf(() => checkSiteFiles('site', sized([1, releaseFileBytesMax + 1])));
    expect([large.code, large.errors?.[0]?.field]).toEqual(['payload_too_large', 'f1']);
    const many = Array.from({ length: 42 }, () => releaseFileBytesMax);
    expect(problemOf(() => checkSiteFiles('site', sized(many))).code).toBe('payload_too_large');
    expect(() => checkSiteFiles('site', sized(many.slice(0, 40)))).not.toThrow();
  });
});
