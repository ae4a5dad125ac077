import { expect, test } from 'bun:test';
import { withWords } from './with-words.ts';

async function* piecesOf(...texts: string[]) {
  for (const text of texts) yield Buffer.from(text, 'latin1');
}

async function answer(texts: string[], words: string): Promise<string> {
  let all = '';
  for await (const piece of withWords(piecesOf(...texts), async () => words))
    all += Buffer.from(piece).toString('latin1');
  return all;
}

const report = '0015\x01000eunpack ok\n0000';

test('words come before the end, however the answer is cut into pieces', async () => {
  const whole = `${report}0000`;
  const expected = `${report}000b\x02hello\n0000`;
  for (let at = 0; at <= whole.length; at++)
    expect(await answer([whole.slice(0, at), whole.slice(at)], 'hello\n')).toBe(expected);
  expect(await answer([...whole], 'hello\n')).toBe(expected);
});

test.each([
  ['without words', [`${report}0000`], ''],
  ['without bands', ['000eunpack ok\n0000'], 'hello\n'],
  ['that was cut off', ['0015\x01000eunp'], 'hello\n'],
  ['of nothing', [], 'hello\n'],
  ['of an end alone', ['0000'], 'hello\n'],
  ['with more words than fit', [`${report}0000`], 'x'.repeat(65_516)],
])('an answer %s stays as it is', async (_, texts, words) => {
  expect(await answer(texts, words)).toBe(texts.join(''));
});
