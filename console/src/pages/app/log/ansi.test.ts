import { describe, expect, test } from 'bun:test';
import { plainText, textParts } from './ansi.ts';

const shown = (line: string) =>
  textParts(line).map(({ text, color, isBold }) => `${color ?? '-'}${isBold ? '!' : ''} ${text}`);

describe('text with colours of a terminal', () => {
  test.each([
    ['plain', ['- plain']],
    ['\u001b[31mred\u001b[0m and not', ['red red', '-  and not']],
    ['\u001b[1;32mgood\u001b[22m less', ['green! good', 'green  less']],
    ['\u001b[91mbright\u001b[39m none', ['red bright', '-  none']],
    ['\u001b[38;5;201mone of many\u001b[m', ['- one of many']],
    ['\u001b[38;2;1;31;3mtrue\u001b[33mthen', ['- true', 'yellow then']],
    ['\u001b[36m\u001b[0m', []],
  ])('%j is shown in parts of one look each', (line, expected) => {
    expect(shown(line)).toEqual(expected);
  });

  test('is the same text without them', () => {
    expect(plainText('\u001b[31mred\u001b[0m and \u001b[1mbold')).toBe('red and bold');
  });
});
