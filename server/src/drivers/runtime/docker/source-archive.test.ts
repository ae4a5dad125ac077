import { expect, test } from 'bun:test';
import { parseDockerIgnore, runTarCreate } from './source-archive.ts';

test('an incomplete archive fails with the reason', async () => {
  const packed = runTarCreate(['-C', import.meta.dir, 'source-archive.ts', 'is-not-there']);
  const error = await new Response(packed.bytes).arrayBuffer().catch((thrown: unknown) => thrown);
  expect(String(error)).toContain('is-not-there');
  await packed.close();
});

const cases: [lines: string, ignored: string[], kept: string[]][] = [
  ['node_modules', ['node_modules', 'node_modules/a/b.js'], ['a/node_modules', 'node_modules2']],
  ['**/node_modules', ['node_modules/a', 'a/b/node_modules/c'], ['a/node_modules2']],
  ['*.log', ['a.log'], ['b/a.log', 'a.logs']],
  ['**/*.log', ['a.log', 'b/c/a.log'], ['a.txt']],
  ['/dist/', ['dist', 'dist/a'], ['src/dist']],
  ['./a//b/../c', ['a/c', 'a/c/d'], ['a/b']],
  ['a?c', ['abc'], ['ac', 'a/c']],
  ['[a-c].txt', ['b.txt'], ['d.txt']],
  ['*\n!keep.txt', ['a', 'a/b'], ['keep.txt']],
  ['docs\n!docs/keep', ['docs/other'], ['docs/keep', 'docs/keep/a']],
  ['!a\na', ['a'], []],
  ['# a comment\n\n  b  ', ['b'], ['# a comment', 'a']],
  ['a.b', ['a.b'], ['axb']],
  ['a\\*b', ['a*b'], ['axb']],
  ['[z-a]', [], ['z', 'a']],
  ['', [], ['anything']],
];

for (const [lines, ignored, kept] of cases) {
  test(`.dockerignore: ${JSON.stringify(lines)}`, () => {
    const isIgnored = parseDockerIgnore(lines);
    expect(ignored.filter((path) => !isIgnored(path))).toEqual([]);
    expect(kept.filter(isIgnored)).toEqual([]);
  });
}
