import { expect, test } from 'bun:test';
import { StatementLog } from './db.ts';

function logged(...texts: string[]): string[] {
  const log = new StatementLog();
  for (const text of texts) log.add({ text });
  return log.list().map(({ text }) => text);
}

test('statements are logged in order, with their locks and without timeouts', () => {
  expect(
    logged(
      'set local lock_timeout = 300; savepoint lock_attempt',
      'lock table a in access exclusive mode',
      'release savepoint lock_attempt',
      'set local lock_timeout = 5; set local statement_timeout = 5',
      'alter table a',
    ),
  ).toEqual(['lock table a in access exclusive mode', 'alter table a']);
});

test('locks alone are nothing to do again', () => {
  expect(logged('lock table a in access exclusive mode')).toEqual([]);
});

test('what a savepoint takes back is not logged, also several times and within another one', () => {
  expect(
    logged(
      'one',
      'savepoint outer',
      'two',
      'savepoint inner',
      'three',
      'rollback to savepoint inner',
      'four',
      'rollback to savepoint inner',
      'five',
    ),
  ).toEqual(['one', 'two', 'five']);
  expect(
    logged(
      'one',
      'savepoint a',
      'two',
      'savepoint b',
      'release savepoint b',
      'rollback to savepoint a',
      'three',
    ),
  ).toEqual(['one', 'three']);
});

test('of two savepoints with one name, the later one counts', () => {
  expect(logged('savepoint a', 'one', 'savepoint a', 'two', 'rollback to savepoint a')).toEqual(['one']);
});
