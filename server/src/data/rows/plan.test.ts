import { describe, expect, test } from 'bun:test';
import { columnTypes } from '@svc/contract/columns.ts';
import { Failure } from '../../core/problem.ts';
import { parseQuery } from './parse-query.ts';
import { planList, planSelect } from './plan.ts';
import { nameColumn, testTable } from './testing.ts';

const table = testTable();
const plan = (search: string) => planList(table, parseQuery(search, 'list'), () => []);

describe('a plan', () => {
  test('has the defaults of the contract', () => {
    expect(plan('')).toEqual({
      table,
      output: table.all,
      where: [],
      distinct: [],
      sort: [{ column: table.catalogue.idColumn, descending: false }],
      after: null,
      page: 1,
      perPage: 50,
    });
  });

  test('holds normalized values', () => {
    const { where } = plan('uuid=0190A0A0000070008000000000000000&int=-0&name=in.(b,"c,d")');
    expect(where).toMatchObject([
      { op: 'eq', value: '0190a0a0-0000-7000-8000-000000000000' },
      { op: 'eq', value: '0' },
      { op: 'in', values: ['b', 'c,d'] },
    ]);
  });

  test('selects columns under their aliases', () => {
    const { columns } = planSelect(table, [{ column: 'name', alias: 'Called' }]);
    expect(columns).toEqual([{ column: nameColumn, key: 'Called' }]);
  });
});

describe('planning refuses', () => {
  const refusal = (search: string) => {
    try {
      plan(search);
      return 'planned';
    } catch (error) {
      return error instanceof Failure ? error.code : String(error);
    }
  };

  test('operators that do not apply to a type', () => {
    for (const type of columnTypes) {
      const name = type.replace('[]', 's');
      for (const op of ['like', 'ilike', 'sw', 'ew', 'has', 'isw', 'iew', 'ihas']) {
        expect([type, op, refusal(`${name}=${op}.a`)]).toEqual([
          type,
          op,
          type === 'text' ? 'planned' : 'validation_failed',
        ]);
      }
      for (const op of ['cs', 'cd', 'hk']) {
        expect(refusal(`${name}=${op}.{}`)).toBe(type === 'jsonb' ? 'planned' : 'validation_failed');
      }
      for (const keyword of ['true', 'false']) {
        expect(refusal(`${name}=is.${keyword}`)).toBe(type === 'bool' ? 'planned' : 'validation_failed');
      }
      for (const keyword of ['null', 'not_null']) expect(refusal(`${name}=is.${keyword}`)).toBe('planned');
    }
  });

  test('unknown columns anywhere', () => {
    for (const name of ['nope', 'c1', 'v', 'xmin', 'ctid', 'tableoid', 'Name', '__proto__', 'constructor']) {
      const named = [
        `filter=${name}=1`,
        `select=${name}`,
        `select=a:${name}`,
        `sort=${name}`,
        `sort=-${name}`,
      ];
      for (const search of [...named, `or=(id.is.null,${name}.eq.1)`]) {
        expect([search, refusal(search)]).toEqual([search, 'unknown_column']);
      }
    }
    expect(() => planSelect(table, [{ column: 'v', alias: 'v' }])).toThrow(Failure);
  });

  test('invalid values anywhere in a list', () => {
    for (const search of ['int=1.5', 'int=in.(1,x)', 'int=between.(1,x)', 'or=(int.eq.x)', 'uuid=x']) {
      expect([search, refusal(search)]).toEqual([search, 'validation_failed']);
    }
  });
});
