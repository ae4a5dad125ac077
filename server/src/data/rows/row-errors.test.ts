import { expect, test } from 'bun:test';
import { ServerError } from '../../drivers/row-database/messages.ts';
import { rowError } from './row-errors.ts';
import { rowTable } from './row-table.ts';
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

const ofOther = (known: boolean) =>
  rowTable(
    {
      ...table.catalogue,
      columns: [
        ...table.catalogue.columns,
        testColumn('team', 13, {
          type: 'uuid',
          ref: { table: 'teams', tableId: 't2', onDelete: 'restrict' },
        }),
      ],
    },
    table.view,
    ({ name }) => known || name === 'id',
  );

test.each([
  ['23514', 'k11_min', 'age', 'check_violation'],
  ['23503', 'f13', 'team', 'reference_violation'],
])('an error %s of a column is named only to those who know the column', (code, constraint, column, item) => {
  const error = new ServerError(
    new Map([
      ['C', code],
      ['n', constraint],
      ['t', table.catalogue.table],
      ['M', 'insert or update on table "t_1" violates a constraint'],
    ]),
  );
  const named = rowError(error, ofOther(true), 3);
  expect(named?.errors).toMatchObject([{ line: 3, column, code: item }]);
  expect(JSON.stringify([named?.detail, named?.errors])).not.toContain('teams');
  const unnamed = rowError(error, ofOther(false), 3);
  expect([unnamed?.code, unnamed?.errors?.map(({ code, column }) => [code, column])]).toEqual([
    'validation_failed',
    [[item, undefined]],
  ]);
  expect(JSON.stringify([unnamed?.detail, unnamed?.errors])).not.toMatch(/age|team|at least/);
});

test('a constraint of another kind is not explained', () => {
  expect(rowError(violation('somebody_elses'), table)).toBeNull();
});
