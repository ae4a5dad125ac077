import { describe, expect, test } from 'bun:test';
import { parseEnv as parseAsTools } from 'node:util';
import {
  addRow,
  emptyDraft,
  envChanges,
  parseEnv,
  removeRow,
  rowProblem,
  setVariables,
  toggleRemoval,
  updateRow,
  whyNotSave,
} from './env-draft.ts';

describe('the environment draft', () => {
  test('pasted values replace typed ones, and setting a variable cancels its removal', () => {
    let draft = addRow(toggleRemoval(emptyDraft, 'OLD'), { name: 'A', value: '1' });
    draft = toggleRemoval(draft, 'B');
    draft = setVariables(draft, { A: '2', B: 'b', C: '' });
    expect(envChanges(draft)).toEqual({ set: { A: '2', B: 'b', C: '' }, unset: ['OLD'] });
    expect(envChanges(toggleRemoval(toggleRemoval(draft, 'C'), 'OLD'))).toEqual({
      set: { A: '2', B: 'b' },
      unset: ['C'],
    });
  });

  test('cannot be saved with an invalid or duplicate name, or without changes', () => {
    expect(whyNotSave(emptyDraft)).not.toBeNull();
    const problemOf = (name: string) => {
      const draft = addRow(emptyDraft, { name, value: '' });
      return [whyNotSave(draft) === null, rowProblem(draft, draft.rows[0]!) === null];
    };
    expect(problemOf('GOOD_1')).toEqual([true, true]);
    for (const name of ['', '1A', 'A-B', 'PORT', 'SVC_X']) expect(problemOf(name)).toEqual([false, false]);
    const twice = addRow(addRow(emptyDraft, { name: 'A', value: '' }), { name: 'A', value: '' });
    expect(whyNotSave(twice)).not.toBeNull();
    expect(whyNotSave(removeRow(twice, twice.rows[1]!.key))).toBeNull();
    expect(whyNotSave(updateRow(twice, twice.rows[1]!.key, { name: 'B' }))).toBeNull();
  });
});

describe('a .env text', () => {
  test.each([
    ['A=1\nB = two words \n'],
    ['# a comment\n\nexport KEY=value # a note\n'],
    ['A="two\\nlines"\nB=\'as it $is \\n\'\nC=`back`\n'],
    ['KEY="-----BEGIN\nabc\n-----END"\nAFTER=1'],
    ['EMPTY=\nURL=https://a.test/?b=c#d\n'],
    ['A=x\r\nB=y\r\n'],
  ])('is parsed as the command line parses it: %j', (text) => {
    expect(parseEnv(text)).toEqual({
      set: { ...parseAsTools(text) } as Record<string, string>,
      invalidLines: [],
    });
  });

  test('reports invalid lines by number only', () => {
    expect(parseEnv('A=1\njust a secret\nB="never closed\nC=3')).toEqual({
      set: { A: '1', C: '3' },
      invalidLines: [2, 3],
    });
  });
});
