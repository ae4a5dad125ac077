import { describe, expect, test } from 'bun:test';
import type { RowsCtx } from './context.ts';
import { testTable } from './testing.ts';
import { createCascades } from './write-transaction.ts';

describe('the plan of a deletion', () => {
  const lines = testTable({ id: 'lines', name: 'lines' });
  const notes = testTable({ id: 'notes', name: 'notes' });
  const orders = testTable({
    id: 'orders',
    name: 'orders',
    referencedBy: [
      { tableId: 'lines', table: 'lines', column: 'name', physical: 'f10', onDelete: 'cascade' },
      { tableId: 'notes', table: 'notes', column: 'name', physical: 'f10', onDelete: 'set_null' },
    ],
  });
  const ctx = {
    table: orders,
    openRelated: async (id: string) => ({ table: id === 'lines' ? lines : notes }),
  } as unknown as RowsCtx;

  /** The counters of the database, for the table and for each that refers to it, before and after. */
  async function warnings(before: string[][], after: string[][], deleted = 1): Promise<string[]> {
    const answers = [before, after];
    const cascades = createCascades({ query: async () => ({ rows: answers.shift() ?? [] }) });
    await cascades.count(
      ctx,
      async () => deleted,
      (count) => count,
    );
    return cascades.warnings();
  }

  const zero = ['0', '0'];

  test('counts what the database counted', async () => {
    expect(
      await warnings(
        [zero, ['2', '0'], zero],
        [
          ['1', '0'],
          ['5', '0'],
          ['0', '1'],
        ],
      ),
    ).toEqual(['Deletes 3 rows of lines as well.', 'Clears the references of 1 row of notes.']);
    expect(await warnings([zero, zero, zero], [['1', '0'], zero, zero])).toEqual([]);
  });

  test('says without numbers what happens where the database does not count, as on Citus', async () => {
    expect(await warnings([zero, zero, zero], [zero, zero, zero])).toEqual([
      'Rows of lines that refer to deleted rows are deleted as well.',
      'References of notes to deleted rows are cleared.',
    ]);
    expect(await warnings([zero, zero, zero], [zero, zero, zero], 0)).toEqual([]);
  });
});
