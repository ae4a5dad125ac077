import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { commandLine, quote } from './plan.ts';

test.each([
  ['plain', 'plain'],
  ['a/b,c', 'a/b,c'],
  ['', "''"],
  ['two words', "'two words'"],
  ["it's", "'it'\\''s'"],
  ['$(rm -rf /)', "'$(rm -rf /)'"],
  ['*', "'*'"],
  ['~', "'~'"],
  ['=ls', "'=ls'"],
])('%j is written %s', (argument, written) => {
  expect(quote(argument)).toBe(written);
});

test('a shell parses every line into its arguments', () => {
  const argument = fc
    .string({ unit: 'binary', maxLength: 20 })
    .filter((text) => !text.includes('\0') && text.isWellFormed());
  const lines = fc.sample(fc.array(argument, { maxLength: 4 }), 100);
  const script = lines.map((args) => commandLine(args).replace(/^svc/, 'show')).join('\n');
  const shell = Bun.spawnSync(['sh', '-c', `show() { printf '%s\\0' "$#" "$@"; }\n${script}`]);
  const words = shell.stdout.toString().split('\0');
  expect(lines.map(() => words.splice(0, 1 + Number(words[0])).slice(1))).toEqual(lines);
});
