import { expect, test } from 'bun:test';
import { masksError, otherArgs, withMaskKind } from './policy-draft.ts';

test('changing the kind of a mask resets its arguments', () => {
  const mask = { column: 'email', kind: 'partial', args: { keep: 2 } } as const;
  expect(withMaskKind(mask, 'constant').args).toEqual({ value: '***' });
  expect(withMaskKind(mask, 'hash').args).toEqual({});
});

test('unknown arguments are preserved', () => {
  expect(otherArgs({ column: 'a', kind: 'partial', args: { first: 2, from: 'end' } })).toEqual({
    from: 'end',
  });
});

test('masks that the server would refuse are reported', () => {
  const mask = (column: string) => ({ column, kind: 'redact' as const, args: {} });
  const all = { mode: 'all', names: [] };
  expect(masksError([mask('a'), mask('b')], all)).toBeNull();
  expect(masksError([mask('')], all)).toContain('no column');
  expect(masksError([mask('a'), mask('a')], all)).toContain('twice');
  expect(masksError([mask('a')], { mode: 'deny', names: ['a'] })).toContain('hidden');
  expect(masksError([mask('a')], { mode: 'allow', names: ['b'] })).toContain('hidden');
  expect(masksError([mask('a')], { mode: 'allow', names: ['a'] })).toBeNull();
});
