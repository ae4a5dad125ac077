import { expect, test } from 'bun:test';
import { ProblemError } from '@svc/contract/client.ts';
import type { Problem } from '@svc/contract/problem.ts';
import { deleteRows } from './delete-rows.ts';

const refused = (code: Problem['code']) => new ProblemError({ code, detail: '' } as Problem, null);
const row = (title: string) => new Map([['title', title]]);

/** Rows 1 to 5 shown as "a"; what has become of them differs. */
function work(gone: string[], removed: string[]) {
  return {
    shown: () => row('"a"'),
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

test('a row that was changed since it was shown, or while it is deleted, stays and is named', async () => {
  const [gone, removed]: [string[], string[]] = [[], []];
  const changed = await deleteRows(['1', '2', '3', '4', '5'], work(gone, removed));
  expect(changed.sort()).toEqual(['2', '4']);
  expect(gone.sort()).toEqual(['1', '3', '5']);
  expect(removed.sort()).toEqual(['1 "1.1"', '5 "5.1"']);
});

test('a refusal ends it, and what is gone by then is told', async () => {
  const [gone, removed]: [string[], string[]] = [[], []];
  await expect(deleteRows(['1', 'x'], work(gone, removed))).rejects.toThrow(ProblemError);
  expect(gone).toEqual(['1']);
});
