import { expect, test } from 'bun:test';
import { moveFocus } from './grid-move.ts';

const last = { row: 5, column: 3 };
const press = (key: string, from: { row: number; column: number }, ctrlKey = false) =>
  moveFocus({ key, ctrlKey, metaKey: false }, from, last);

test('arrow keys move to the next cell and stop at the edge', () => {
  expect(press('ArrowDown', { row: 1, column: 1 })).toEqual({ row: 2, column: 1 });
  expect(press('ArrowDown', last)).toEqual(last);
  expect(press('ArrowLeft', { row: 0, column: 0 })).toEqual({ row: 0, column: 0 });
  expect(press('ArrowRight', { row: 2, column: 2 })).toEqual({ row: 2, column: 3 });
});

test('Home and End move along the row, with Ctrl to the corners', () => {
  expect(press('Home', { row: 2, column: 2 })).toEqual({ row: 2, column: 0 });
  expect(press('End', { row: 2, column: 0 })).toEqual({ row: 2, column: 3 });
  expect(press('Home', last, true)).toEqual({ row: 0, column: 0 });
  expect(press('End', { row: 0, column: 0 }, true)).toEqual(last);
});

test('a page is ten rows, and other keys do not move', () => {
  expect(press('PageDown', { row: 1, column: 1 })).toEqual({ row: 5, column: 1 });
  expect(press('a', { row: 1, column: 1 })).toBeNull();
});
