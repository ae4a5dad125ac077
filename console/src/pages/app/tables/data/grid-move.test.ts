import { expect, test } from 'bun:test';
import { movedBy } from './grid-move.ts';

const last = { row: 5, column: 3 };
const press = (key: string, from: { row: number; column: number }, ctrlKey = false) =>
  movedBy({ key, ctrlKey, metaKey: false }, from, last);

test('arrows lead to the next cell and stop at the edge', () => {
  expect(press('ArrowDown', { row: 1, column: 1 })).toEqual({ row: 2, column: 1 });
  expect(press('ArrowDown', last)).toEqual(last);
  expect(press('ArrowLeft', { row: 0, column: 0 })).toEqual({ row: 0, column: 0 });
  expect(press('ArrowRight', { row: 2, column: 2 })).toEqual({ row: 2, column: 3 });
});

test('home and end lead along the row, with control to the corners', () => {
  expect(press('Home', { row: 2, column: 2 })).toEqual({ row: 2, column: 0 });
  expect(press('End', { row: 2, column: 0 })).toEqual({ row: 2, column: 3 });
  expect(press('Home', last, true)).toEqual({ row: 0, column: 0 });
  expect(press('End', { row: 0, column: 0 }, true)).toEqual(last);
});

test('a page is ten rows, and other keys move nothing', () => {
  expect(press('PageDown', { row: 1, column: 1 })).toEqual({ row: 5, column: 1 });
  expect(press('a', { row: 1, column: 1 })).toBeNull();
});
