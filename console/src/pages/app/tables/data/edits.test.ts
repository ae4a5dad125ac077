import { expect, test } from 'bun:test';
import { ProblemError } from '@svc/contract/client.ts';
import type { Problem } from '@svc/contract/problem.ts';
import {
  addChange,
  countChanges,
  deleteRows,
  displayValue,
  hasUnsaved,
  noEdits,
  rebaseEdit,
} from './edits.ts';

const readRow = {
  row: new Map([
    ['id', '1'],
    ['title', '"a"'],
    ['n', '5'],
  ]),
  etag: '"1.1"',
};

test('an undone change is removed', () => {
  const once = addChange(noEdits, '1', readRow, 'title', '"b"');
  expect(countChanges(once)).toBe(1);
  expect(addChange(once, '1', readRow, 'title', '"a"').size).toBe(0);
});

test('changes of several rows and columns are counted', () => {
  const other = { row: new Map([['id', '2']]), etag: '"2.1"' };
  const edits = addChange(
    addChange(addChange(noEdits, '1', readRow, 'title', '"b"'), '1', readRow, 'n', '6'),
    '2',
    other,
    'n',
    'null',
  );
  expect(countChanges(edits)).toBe(3);
  expect(displayValue(readRow.row, edits.get('1'), 'title')).toBe('"b"');
  expect(displayValue(readRow.row, undefined, 'title')).toBe('"a"');
});

test('changes of another table count as unsaved', () => {
  const some = addChange(noEdits, '1', readRow, 'title', '"b"');
  expect(hasUnsaved([noEdits, some])).toBe(true);
  expect(hasUnsaved([noEdits, noEdits])).toBe(false);
});

test('an edit keeps the version read before its first change', () => {
  const first = addChange(noEdits, '1', readRow, 'title', '"b"');
  const second = addChange(first, '1', { ...readRow, etag: '"9.1"' }, 'n', '6');
  expect(second.get('1')?.etag).toBe('"1.1"');
});

test('rebasing keeps only values that differ', () => {
  const edit = addChange(addChange(noEdits, '1', readRow, 'title', '"b"'), '1', readRow, 'n', '6').get('1')!;
  const theirs = {
    row: new Map([
      ['id', '1'],
      ['title', '"b"'],
      ['n', '7'],
    ]),
    etag: '"2.1"',
  };
  const mine = rebaseEdit(edit, theirs);
  expect([...mine.changes]).toEqual([['n', '6']]);
  expect(mine.etag).toBe('"2.1"');
});

const refused = (code: Problem['code']) => new ProblemError({ code, detail: '' } as Problem, null);
const row = (title: string) => new Map([['title', title]]);

function work(gone: string[], removed: string[]) {
  return {
    // A search adds what it found.
    displayed: () => row('"a"').set('_snippet', '"<mark>a</mark>"'),
    read: async (id: string) => {
      if (id === '3') throw refused('not_found');
      return { row: row(id === '2' ? '"b"' : '"a"'), etag: `"${id}.1"` };
    },
    remove: async (id: string, etag: string) => {
      if (id === '4') throw refused('precondition_failed');
      if (id === 'x') throw refused('forbidden');
      removed.push(`${id} ${etag}`);
    },
    onGone: (id: string) => gone.push(id),
  };
}

test('a row changed since it was shown is not deleted but reported', async () => {
  const [gone, removed]: [string[], string[]] = [[], []];
  const changed = await deleteRows(['1', '2', '3', '4', '5'], work(gone, removed));
  expect(changed.sort()).toEqual(['2', '4']);
  expect(gone.sort()).toEqual(['1', '3', '5']);
  expect(removed.sort()).toEqual(['1 "1.1"', '5 "5.1"']);
});

test('an error stops the deletion and deleted rows are reported', async () => {
  const [gone, removed]: [string[], string[]] = [[], []];
  await expect(deleteRows(['1', 'x'], work(gone, removed))).rejects.toThrow(ProblemError);
  expect(gone).toEqual(['1']);
});
