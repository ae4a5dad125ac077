import { expect, test } from 'bun:test';
import { zxcvbn, zxcvbnOptions } from '@zxcvbn-ts/core';
import * as common from '@zxcvbn-ts/language-common';
import * as english from '@zxcvbn-ts/language-en';
import { estimateGuesses } from './users.ts';

const passwords = [
  'correct horse battery staple',
  'tulip anvil gravel moon',
  'P4ssw0rd!2026',
  '$unsh1ne-2026',
  'drowssapdrowssap',
  'Vandermeer-Johnson',
  'qwertyuiopasdf',
  'aaaaaaaaaaaaaaaa',
  'iloveyou2026!!',
  '/\\\\/\\\\onkey|)onkey',
  'Ada Lovelace 1815',
  'größenwahnsinnig',
  'constructor toString',
  'kX9#vQ2!mZ7$pL4&',
];

test('an estimate is that of the whole dictionaries, although only a part of them is used', async () => {
  const about = ['ada@example.test', 'ada', 'example', 'test'];
  const mine = [];
  for (const password of passwords) mine.push(figures(await estimateGuesses(password, ['ada@example.test'])));
  zxcvbnOptions.setOptions({ dictionary: { ...common.dictionary, ...english.dictionary } });
  const whole = passwords.map((password) => figures(zxcvbn(password, about)));
  expect(mine).toEqual(whole);
  expect(new Set(mine.map(({ score }) => score)).size).toBeGreaterThan(2);
});

const figures = ({ password, score, guesses, feedback }: ReturnType<typeof zxcvbn>) => ({
  password,
  score,
  guesses,
  warning: feedback.warning,
});
