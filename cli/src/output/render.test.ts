import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { fieldLines, tableLines, textWidth, truncate, wrap } from '../framework/layout.ts';
import { cellText, sanitize } from '../framework/text.ts';
import { supportsUnicode } from './render.ts';

const style = { width: 40, colour: false, unicode: true };
const wide = fc.string({
  unit: fc.constantFrom('a', 'é', '日', '👩‍👩‍👧', 'ß', '한', ' ', '\u0301'),
  maxLength: 60,
});

describe('width', () => {
  test('truncation never exceeds the width and never splits a character', () => {
    fc.assert(
      fc.property(wide, fc.integer({ min: 4, max: 50 }), (text, width) => {
        const short = truncate(text, width, style);
        expect(textWidth(short)).toBeLessThanOrEqual(Math.max(width, textWidth(text) <= width ? width : 1));
        if (short !== text) expect(text.startsWith(short.slice(0, -1))).toBe(true);
      }),
    );
  });

  test('wrapping keeps every character but spaces at the breaks', () => {
    fc.assert(
      fc.property(wide, fc.integer({ min: 4, max: 50 }), (text, width) => {
        const lines = wrap(text, width);
        for (const line of lines) expect(textWidth(line)).toBeLessThanOrEqual(width);
        expect(lines.join('').replaceAll(' ', '')).toBe(text.replaceAll(' ', ''));
      }),
    );
  });

  test('a table fits, with the first column whole', () => {
    const id = '0198c1f2-7b1e-7c3a';
    const rows = [[id, 'a long name that needs cutting', '日本語のとても長い名前です']];
    const lines =
      tableLines({ titles: ['ID', 'NAME', 'TITLE'], keep: [true, false, false], rows }, style) ?? [];
    for (const line of lines) expect(textWidth(line)).toBeLessThanOrEqual(40);
    expect(lines[1]).toStartWith(id);
    expect(lines[1]).toContain('…');
  });

  test('a table that does not fit reports that, and nothing is truncated without a limit', () => {
    const rows = [['x'.repeat(50), 'y'.repeat(50)]];
    const grid = { titles: ['A', 'B'], keep: [true, false], rows };
    expect(tableLines(grid, style)).toBeNull();
    expect(tableLines(grid, { ...style, width: null })?.[1]).toBe(`${'x'.repeat(50)}  ${'y'.repeat(50)}`);
  });

  test('columns of wide characters line up', () => {
    const rows = [
      ['日本', '1'],
      ['ab', '2'],
    ];
    const lines =
      tableLines({ titles: ['N', 'V'], keep: [false, false], rows }, { ...style, width: null }) ?? [];
    expect(lines.map((line) => textWidth(line))).toEqual([7, 7, 7]);
  });

  test('fields of one record fit, however narrow', () => {
    for (const width of [20, 40, 80]) {
      const fields = [
        { name: 'id', value: '0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3c' },
        { name: 'scope_resource_paths', value: 'sales, hr/people, finance/ledger' },
      ];
      const text = fieldLines(fields, { nameWidth: 20, width, bold: (it) => it });
      for (const line of text.split('\n')) expect(textWidth(line)).toBeLessThanOrEqual(width);
    }
  });
});

describe('text from the server', () => {
  test('contains no control characters', () => {
    expect(sanitize('a\u001b[31mred\u0007\nb\tc\u202e')).toBe('a\\x1b[31mred\\x07 b c');
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(sanitize(text)).not.toMatch(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/u);
      }),
    );
  });

  test('becomes one line, whatever its type', () => {
    expect([
      cellText(null),
      cellText(''),
      cellText(0),
      cellText(false),
      cellText(['a', 1]),
      cellText({ a: [1] }),
      cellText([{ a: 1 }]),
    ]).toEqual(['', '', '0', 'false', 'a, 1', '{"a":[1]}', '[{"a":1}]']);
  });
});

test.each([
  [{ LC_ALL: 'C', LANG: 'en_US.UTF-8' }, false],
  [{ LANG: 'en_US.UTF-8' }, true],
  [{ LC_CTYPE: 'C.utf8' }, true],
  [{ LC_ALL: 'ja_JP.eucJP' }, false],
  [{}, false],
])('locale %j: Unicode %p', (env, expected) => {
  expect(supportsUnicode(env)).toBe(expected);
});
