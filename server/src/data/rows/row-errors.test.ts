import { expect, test } from 'bun:test';
import { ServerError } from '../../drivers/row-database/messages.ts';
import { rowError } from './row-errors.ts';
import { testColumn, testTable } from './testing.ts';

const violation = (constraint: string) =>
  new ServerError(
    new Map([
      ['C', '23514'],
      ['n', constraint],
    ]),
  );

const table = testTable({
  columns: [
    testColumn('id', 1, { type: 'uuid', role: 'id' }),
    testColumn('age', 11, { type: 'int', checks: { min: '0' } }),
    testColumn('state', 12, { type: 'enum(open,paid)' }),
  ],
});

test.each([
  ['k11_min', 'age', 'must be at least 0 (check min)'],
  ['k11_max', 'age', 'does not meet the check max'],
  ['k12_enum', 'state', 'must be one of open, paid'],
])(
  'a violation of %s names the column and the check, also of one that is not known here yet',
  (name, column, detail) => {
    const failure = rowError(violation(name), table, 3);
    expect(failure?.code).toBe('validation_failed');
    expect(failure?.errors).toEqual([{ line: 3, column, code: 'check_violation', detail }]);
  },
);

test('a constraint of another kind is not explained', () => {
  expect(rowError(violation('somebody_elses'), table)).toBeNull();
});
