import { expect, test } from 'bun:test';
import { countChanges, hasUnsaved, noEdits, rebased, shownValue, withChange } from './edits.ts';

const read = {
  row: new Map([
    ['id', '1'],
    ['title', '"a"'],
    ['n', '5'],
  ]),
  etag: '"1.1"',
};

test('a change that is taken back is no change', () => {
  const once = withChange(noEdits, '1', read, 'title', '"b"');
  expect(countChanges(once)).toBe(1);
  expect(withChange(once, '1', read, 'title', '"a"').size).toBe(0);
});

test('changes of several rows and columns are counted and shown', () => {
  const other = { row: new Map([['id', '2']]), etag: '"2.1"' };
  const edits = withChange(
    withChange(withChange(noEdits, '1', read, 'title', '"b"'), '1', read, 'n', '6'),
    '2',
    other,
    'n',
    'null',
  );
  expect(countChanges(edits)).toBe(3);
  expect(shownValue(read.row, edits.get('1'), 'title')).toBe('"b"');
  expect(shownValue(read.row, undefined, 'title')).toBe('"a"');
});

test('changes of a table that is not looked at are unsaved all the same', () => {
  const some = withChange(noEdits, '1', read, 'title', '"b"');
  expect(hasUnsaved([noEdits, some])).toBe(true);
  expect(hasUnsaved([noEdits, noEdits])).toBe(false);
});

test('the version that counts is the one read before the first change of a row', () => {
  const first = withChange(noEdits, '1', read, 'title', '"b"');
  const second = withChange(first, '1', { ...read, etag: '"9.1"' }, 'n', '6');
  expect(second.get('1')?.etag).toBe('"1.1"');
});

test('mine upon theirs keeps only what still differs', () => {
  const edit = withChange(withChange(noEdits, '1', read, 'title', '"b"'), '1', read, 'n', '6').get('1')!;
  const theirs = {
    row: new Map([
      ['id', '1'],
      ['title', '"b"'],
      ['n', '7'],
    ]),
    etag: '"2.1"',
  };
  const mine = rebased(edit, theirs);
  expect([...mine.changes]).toEqual([['n', '6']]);
  expect(mine.etag).toBe('"2.1"');
});
