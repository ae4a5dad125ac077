import { describe, expect, test } from 'bun:test';
import { parseEnv as parseAsTools } from 'node:util';
import { parseEnv } from './parse-env.ts';

describe('a .env text', () => {
  test.each([
    ['A=1\nB = two words \n'],
    ['# a comment\n\nexport KEY=value # said of it\n'],
    ['A="two\\nlines"\nB=\'as it $is \\n\'\nC=`back`\n'],
    ['KEY="-----BEGIN\nabc\n-----END"\nAFTER=1'],
    ['EMPTY=\nURL=https://a.test/?b=c#d\n'],
    ['A=x\r\nB=y\r\n'],
  ])('is read as the command line reads it: %j', (text) => {
    expect(parseEnv(text)).toEqual({
      set: { ...parseAsTools(text) } as Record<string, string>,
      oddLines: [],
    });
  });

  test('tells of lines that set nothing by their numbers alone', () => {
    expect(parseEnv('A=1\njust a secret\nB="never closed\nC=3')).toEqual({
      set: { A: '1', C: '3' },
      oddLines: [2, 3],
    });
  });
});
