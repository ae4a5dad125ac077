import { expect, test } from 'bun:test';
import { accessMatrix, alternativeText, parseAlternativeText } from './access-matrix.ts';
import { presetRules, type TableRules } from './table-rules.ts';

const lunch: TableRules = {
  read: ['own', 'role:manager', { who: 'role:cook', where: 'state=eq.open' }],
  insert: ['own'],
  update: ['own'],
  delete: ['none'],
  columns: { note: { read: ['own'] }, paid: { write: ['role:manager'] } },
};

test('each kind of person may do what the alternatives say', () => {
  const rows = accessMatrix(lunch, { ownerColumn: 'by' });
  expect(rows.map(({ who, actions }) => [who, ...Object.values(actions)])).toEqual([
    ['Everybody who may use the app', [], [], [], []],
    ['With the role cook', ['state=eq.open'], [], [], []],
    ['With the role manager', 'yes', [], [], []],
    ['The owner of a row', 'yes', 'yes', 'yes', []],
    ['The app itself', [], [], [], []],
    ['Owners of the app, in the console and the command line', 'yes', 'yes', 'yes', 'yes'],
  ]);
  expect(rows.map(({ hidden, readOnly }) => [hidden, readOnly])).toEqual([
    [['note'], ['paid']],
    [['note'], ['paid']],
    [['note'], []],
    [[], ['paid']],
    [['note'], ['paid']],
    [[], []],
  ]);
});

test('a table without an owner column has no owners of rows', () => {
  const who = accessMatrix(presetRules['read-only'], { ownerColumn: null }).map((row) => row.who);
  expect(who).not.toContain('The owner of a row');
});

test('an alternative is read as it is written', () => {
  for (const alternative of ['any', 'region=eq.@me.region', { who: 'role:cook', where: 'a=eq.x where y' }])
    expect(parseAlternativeText(alternativeText(alternative))).toEqual(alternative);
});
