import { expect, test } from 'bun:test';
import { masksFault, otherArgs, withKind } from './mask-args.ts';

test('a mask of another kind gets the arguments of that kind', () => {
  const mask = { column: 'email', kind: 'partial', args: { keep: 2 } } as const;
  expect(withKind(mask, 'constant').args).toEqual({ value: '***' });
  expect(withKind(mask, 'hash').args).toEqual({});
});

test('arguments that the form does not know are kept apart', () => {
  expect(otherArgs({ column: 'a', kind: 'partial', args: { keep: 2, from: 'end' } })).toEqual({
    from: 'end',
  });
});

test('what the server would refuse of masks is told before', () => {
  const mask = (column: string) => ({ column, kind: 'redact' as const, args: {} });
  const all = { mode: 'all', names: [] };
  expect(masksFault([mask('a'), mask('b')], all)).toBeNull();
  expect(masksFault([mask('')], all)).toContain('no column');
  expect(masksFault([mask('a'), mask('a')], all)).toContain('twice');
  expect(masksFault([mask('a')], { mode: 'deny', names: ['a'] })).toContain('hidden');
  expect(masksFault([mask('a')], { mode: 'allow', names: ['b'] })).toContain('hidden');
  expect(masksFault([mask('a')], { mode: 'allow', names: ['a'] })).toBeNull();
});
