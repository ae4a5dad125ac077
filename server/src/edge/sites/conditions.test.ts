import { describe, expect, test } from 'bun:test';
import { patientMs } from '../../../../scripts/patience.ts';
import { parseRange } from '../../http/headers.ts';
import { encodingOrder } from './prepare-file.ts';
import { listsTag } from './serve-release.ts';

describe('If-None-Match and If-Match', () => {
  test.each([
    ['"a"', true, true],
    ['*', true, true],
    [' * ', true, true],
    ['W/"a"', true, false],
    ['"b", "a"', true, true],
    ['"b","a"', true, true],
    ['"b" , W/"a" , "c"', true, false],
    [', ,"a"', true, true],
    ['"x,"a"', false, false],
    ['"b,a"', false, false],
    ['"b", *', false, false],
    ['a', false, false],
    ['"a', false, false],
    ['"A"', false, false],
    ['w/"a"', false, false],
    ['', false, false],
    ['"b" "a"', false, false],
    ['"a-br"', false, false],
  ])('%s: weakly %s, strongly %s', (header, weak, strong) => {
    expect(listsTag(header, '"a"', 'weak')).toBe(weak);
    expect(listsTag(header, '"a"', 'strong')).toBe(strong);
  });

  test('a long invalid list is handled quickly', () => {
    const begun = performance.now();
    expect(listsTag(`${' ,'.repeat(8_000)}x`, '"a"', 'weak')).toBe(false);
    expect(listsTag('"'.repeat(16_000), '"a"', 'weak')).toBe(false);
    expect(performance.now() - begun).toBeLessThan(patientMs(100));
  });
});

describe('Accept-Encoding', () => {
  test.each([
    [null, ['identity']],
    ['', ['identity']],
    ['gzip, deflate, br', ['br', 'gzip', 'identity']],
    ['gzip, deflate, br, zstd', ['br', 'gzip', 'identity']],
    ['gzip', ['gzip', 'identity']],
    ['x-gzip', ['gzip', 'identity']],
    ['BR', ['br', 'identity']],
    ['br;q=0.5, gzip;q=0.8', ['gzip', 'br', 'identity']],
    ['br;q=0, gzip', ['gzip', 'identity']],
    ['br;q=0.000', ['identity']],
    ['*', ['br', 'gzip', 'identity']],
    ['*;q=0', ['identity']],
    ['br, *;q=0', ['br', 'identity']],
    ['identity', ['identity']],
    ['identity;q=0, br', ['br', 'identity']],
    ['identity;q=0', ['identity']],
    ['identity;q=1, br;q=0.5', ['identity']],
    ['identity;q=0.5, br;q=0.5, gzip;q=0.4', ['br', 'identity']],
    ['gzip;q=1.5', ['gzip', 'identity']],
    ['gzip;level=9', ['identity']],
    ['gzip ; q = 0.5', ['gzip', 'identity']],
    ['brotli', ['identity']],
  ])('%s → %j', (header, order) => expect<readonly string[]>(encodingOrder(header)).toEqual(order));
});

describe('Range, of ten bytes', () => {
  test.each([
    ['bytes=0-4', { start: 0, end: 4 }],
    ['bytes=4-', { start: 4, end: 9 }],
    ['bytes=-3', { start: 7, end: 9 }],
    ['bytes=-20', { start: 0, end: 9 }],
    ['bytes=5-99', { start: 5, end: 9 }],
    ['Bytes=0-0', { start: 0, end: 0 }],
    ['bytes=10-', 'unsatisfiable'],
    ['bytes=99-100', 'unsatisfiable'],
    ['bytes=-0', 'unsatisfiable'],
    ['bytes=4-2', null],
    ['bytes=0-1,4-5', null],
    ['bytes=-', null],
    ['bytes=a-b', null],
    ['bytes=0x0-1', null],
    ['lines=0-4', null],
    ['bytes=99999999999999999999-', null],
    ['', null],
  ] as const)('%s → %j', (header, expected) => expect(parseRange(header, 10)).toEqual(expected));

  test('no range of an empty file is satisfiable', () => {
    expect(parseRange('bytes=0-', 0)).toBe('unsatisfiable');
    expect(parseRange('bytes=-1', 0)).toBe('unsatisfiable');
  });
});
