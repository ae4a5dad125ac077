import { describe, expect, test } from 'bun:test';
import { arrayText } from '@svc/contract/column-values.ts';
import { columnTypes, isArrayType, type PlainType } from '@svc/contract/columns.ts';
import { filterOps } from '@svc/contract/rows.ts';
import fc from 'fast-check';
import { Failure } from '../../core/problem.ts';
import { always, equals } from '../tables/conditions.ts';
import { aggregateSql, planAggregate } from './aggregate-rows.ts';
import { parseQuery } from './parse-query.ts';
import { type AfterKey, planList, planWhere } from './plan.ts';
import { createOutput } from './row-table.ts';
import { cappedCountSql, countSql, estimateSql, exportSql, listSql, oneSql } from './sql.ts';
import { idColumn, nameColumn, ownRowsTable, testTable, typedColumns } from './testing.ts';
import { deleteSql, insertSql, updateSql } from './write-sql.ts';

const table = testTable();
const own = ownRowsTable('u1');

const plan = (search: string, after: readonly AfterKey[] | null = null) =>
  planList(table, parseQuery(search, 'list'), () => after ?? []);
const where = (search: string, of = table) => {
  const { text, values } = countSql(of, planWhere(of, parseQuery(search, 'count').where));
  return [text.replace('select count(*)::text from "app_1"."t_1" t', '').replace(' where ', ''), values];
};
const small = createOutput([{ column: nameColumn, key: 'name' }]);

/** Lists have other operators. */
const orderedTypes = columnTypes.filter((type) => !isArrayType(type));
const samples: Record<PlainType, string> = {
  text: 'x',
  int: '1',
  bigint: '9007199254740993',
  float: '1.5',
  bool: 'true',
  timestamptz: '2026-01-02T03:04:05Z',
  date: '2026-01-02',
  uuid: '0190a0a0-0000-7000-8000-000000000000',
  jsonb: '{"a":1}',
  'text[]': '["a"]',
  'int[]': '[1]',
  autonumber: '1',
};
const casts: Record<PlainType, string> = {
  text: 'text',
  int: 'int4',
  bigint: 'int8',
  float: 'float8',
  bool: 'bool',
  timestamptz: 'timestamptz',
  date: 'date',
  uuid: 'uuid',
  jsonb: 'jsonb',
  'text[]': 'text[]',
  'int[]': 'int4[]',
  autonumber: 'int8',
};

describe('conditions', () => {
  test.each([
    ['eq', '='],
    ['neq', '<>'],
    ['gt', '>'],
    ['gte', '>='],
    ['lt', '<'],
    ['lte', '<='],
  ])('%s compares a value of every type with a cast', (op, sign) => {
    for (const type of orderedTypes) {
      const at = columnTypes.indexOf(type);
      const text = `t."c${at + 11}" ${sign} $1::${casts[type]}`;
      const search = `${type}=${op}.${encodeURIComponent(samples[type])}`;
      expect([type, ...where(search)]).toEqual([type, text, [samples[type]]]);
      expect(where(search.replace('=', '=not.'))[0]).toBe(`not (${text})`);
    }
  });

  test('in and between, of every type', () => {
    for (const type of orderedTypes) {
      const at = columnTypes.indexOf(type);
      const quoted = `"${samples[type].replace(/["\\]/g, '\\$&')}"`;
      const list = encodeURIComponent(`(${quoted},${quoted})`);
      expect(where(`${type}=in.${list}`)).toEqual([
        `t."c${at + 11}" = any($1::${casts[type]}[])`,
        [arrayText([samples[type], samples[type]])],
      ]);
      expect(where(`${type}=between.${list}`)).toEqual([
        `t."c${at + 11}" between $1::${casts[type]} and $2::${casts[type]}`,
        [samples[type], samples[type]],
      ]);
    }
    expect(where('int=in.()')).toEqual(['t."c12" = any($1::int4[])', ['{}']]);
  });

  test.each([
    ['like.a*b%25_\\*', 't."c11" like $1::text', 'a%b%_\\*'],
    ['ilike.A*', 't."c11" collate "default" ilike $1::text', 'A%'],
    ['sw.50%25_\\', 't."c11" like $1::text', '50\\%\\_\\\\%'],
    ['ew.x', 't."c11" like $1::text', '%x'],
    ['has.*', 't."c11" like $1::text', '%*%'],
    ['isw.x', 't."c11" collate "default" ilike $1::text', 'x%'],
    ['iew._', 't."c11" collate "default" ilike $1::text', '%\\_'],
    ['ihas.', 't."c11" collate "default" ilike $1::text', '%%'],
  ])('text=%s is %s with its pattern bound', (test, text, value) => {
    expect(where(`text=${test}`)).toEqual([text, [value]]);
  });

  test('is, cs, cd and hk', () => {
    expect(where('text=is.null')).toEqual(['t."c11" is null', []]);
    expect(where('text=is.not_null')).toEqual(['t."c11" is not null', []]);
    expect(where('bool=is.true')).toEqual(['t."c15" is true', []]);
    expect(where('bool=not.is.false')).toEqual(['not (t."c15" is false)', []]);
    expect(where('jsonb=cs.{}')).toEqual(['t."c19" @> $1::jsonb', ['{}']]);
    expect(where('jsonb=cd.[1]')).toEqual(['t."c19" <@ $1::jsonb', ['[1]']]);
    expect(where('jsonb=hk.a.b')).toEqual(['t."c19" ? $1::text', ['a.b']]);
    expect(where('texts=ov.(a,"b,c")')).toEqual(['t."c20" && $1::text[]', ['{"a","b,c"}']]);
    expect(where('ints=cs.[1,2]')).toEqual(['t."c21" @> $1::int4[]', ['{1,2}']]);
    expect(where('ints=not.eq.()')).toEqual(['not (t."c21" = $1::int4[])', ['{}']]);
    expect(where('text=ov.x')).toEqual(['t."c11" = $1::text', ['ov.x']]);
  });

  test('groups keep their parentheses and parameter order', () => {
    expect(where('or=(int.eq.1,and(text.eq.a,not.or(int.gt.2,text.is.null)))&name=b')).toEqual([
      '(t."c12" = $1::int4 or (t."c11" = $2::text and not (t."c12" > $3::int4 or t."c11" is null))) ' +
        'and t."c10" = $4::text',
      ['1', 'a', '2', 'b'],
    ]);
    expect(where('not=(int.eq.1)')[0]).toBe('not (t."c12" = $1::int4)');
  });

  test('the owner condition comes first in lists, counts and single rows', () => {
    expect(where('name=b', own)).toEqual(['t."c9" = $1::text and t."c10" = $2::text', ['u1', 'b']]);
    expect(where('', own)).toEqual(['t."c9" = $1::text', ['u1']]);
    const list = listSql(planList(own, parseQuery('or=(id.is.null,id.is.not_null)', 'list'), () => []));
    expect(list.text).toContain('where t."c9" = $1::text and (t."c1" is null or t."c1" is not null)');
    expect(oneSql(own, small, []).text).toBe(
      'select t."c10", t."v" from "app_1"."t_1" t where t."c9" = $1::text',
    );
  });
});

describe('statements', () => {
  test('a list reads one row more than the page, with sort keys after the columns', () => {
    expect(listSql(plan('select=name&sort=-int,name&per_page=20&name=x'))).toEqual({
      text:
        'select t."c10", t."c12", t."c10", t."c1" from "app_1"."t_1" t where t."c10" = $1::text' +
        ' order by t."c12" desc, t."c10", t."c1" limit 21',
      values: ['x'],
    });
    expect(listSql(plan('select=name&page=3')).text).toEndWith('order by t."c1" limit 51 offset $1::int8');
    expect(listSql(plan('page=1000000000&per_page=200')).values).toEqual(['199999999800']);
  });

  test('the id is the last sort key, once, in the direction of the key before it', () => {
    expect(listSql(plan('sort=-name')).text).toContain('order by t."c10" desc, t."c1" desc limit');
    expect(listSql(plan('sort=-id,name')).text).toContain('order by t."c1" desc, t."c10" limit');
  });

  test('a cursor is one row comparison if no key is nullable and all have one direction', () => {
    const { text, values } = listSql(plan('sort=-name&cursor=x', ['b', samples.uuid]));
    expect(text).toContain('where (t."c10", t."c1") < ($1::text, $2::uuid) order by');
    expect(values).toEqual(['b', samples.uuid]);
  });

  test('a cursor with nullable keys or mixed directions is a list of alternatives', () => {
    const search = 'select=id&sort=int,-name&cursor=x';
    expect(listSql(plan(search, ['1', 'b', samples.uuid])).text).toContain(
      'where (((t."c12" > $1::int4 or t."c12" is null)) or ' +
        '(t."c12" = $1::int4 and t."c10" < $2::text) or ' +
        '(t."c12" = $1::int4 and t."c10" = $2::text and t."c1" < $3::uuid))',
    );
    expect(listSql(plan(search, [null, 'b', samples.uuid])).text).toContain(
      'where ((t."c12" is null and t."c10" < $1::text) or ' +
        '(t."c12" is null and t."c10" = $1::text and t."c1" < $2::uuid))',
    );
    expect(listSql(plan('select=id&sort=-int&cursor=x', [null, samples.uuid])).text).toContain(
      'where ((t."c12" is not null) or (t."c12" is null and t."c1" < $1::uuid))',
    );
  });

  test('a long key is read from the last row of the previous page', () => {
    const { text, values } = listSql(
      plan('select=id&sort=name&cursor=x', [{ rowId: samples.uuid }, samples.uuid]),
    );
    expect(text).toContain(
      '(t."c10", t."c1") > ((select t."c10" from "app_1"."t_1" t where t."c1" = $1::uuid), $2::uuid)',
    );
    expect(values).toEqual([samples.uuid, samples.uuid]);
  });

  test('counts, exports and estimates', () => {
    const planned = planWhere(table, parseQuery('int=1', 'count').where);
    expect(cappedCountSql(table, planned).text).toBe(
      'select count(*)::text from (select from "app_1"."t_1" t where t."c12" = $1::int4 limit 10001) r',
    );
    expect(estimateSql(table, planned).text).toBe(
      'explain (format json) select from "app_1"."t_1" t where t."c12" = $1::int4',
    );
    expect(exportSql(plan('select=name&sort=-name')).text).toBe(
      'select t."c10" from "app_1"."t_1" t order by t."c10" desc, t."c1" desc',
    );
  });

  test('writes use physical columns, bind all values and return id and version', () => {
    const changes = [
      { column: nameColumn, value: "x'; drop table t" },
      { column: idColumn, value: null },
      { column: typedColumns[5] ?? idColumn, value: { sql: 'now()' } },
    ];
    expect(insertSql(table, changes, { version: '7', returning: small })).toEqual({
      text:
        'insert into "app_1"."t_1" as t ("c10", "c1", "c16", v) values ($1::text, $2::uuid, now(), $3::int8)' +
        ' returning t."c10", t."c1", t."v", \'true\'',
      values: ["x'; drop table t", null, '7'],
    });
    const row = { where: [equals(idColumn, samples.uuid)], allowed: always };
    const silent = { ...table, all: createOutput([]) };
    expect(updateSql(silent, changes.slice(0, 1), row, '7')).toEqual({
      text:
        'update "app_1"."t_1" as t set "c10" = $1::text, v = t.v + 1' +
        ' where t."c1" = $2::uuid and t.v = $3::int8 returning t."c1", t."v", \'true\'',
      values: ["x'; drop table t", samples.uuid, '7'],
    });
    expect(updateSql(silent, [], row, null).text).toBe(
      'update "app_1"."t_1" as t set v = t.v where t."c1" = $1::uuid returning t."c1", t."v", \'true\'',
    );
    expect(deleteSql(silent, row, null).text).toBe(
      'delete from "app_1"."t_1" as t where t."c1" = $1::uuid returning t."c1", t."v", \'true\'',
    );
  });
});

describe('statement texts contain no user input', () => {
  const attack = fc.oneof(
    fc.constantFrom(
      `'; drop table svc.users; --`,
      '$$',
      '"',
      '\\',
      ')',
      '$1',
      '/*',
      'zzz) or (true',
      '\u0000',
    ),
    fc.string(),
  );
  const names = ['id', 'owner', 'name', ...typedColumns.map(({ name }) => name)];
  const marker = 'qqq7';

  test('from filters with any operator and column', () => {
    const anything = fc.tuple(
      fc.constantFrom(...names),
      fc.constantFrom('', 'not.'),
      fc.constantFrom(...filterOps),
      attack,
    );
    const fitting = fc.tuple(
      fc.constantFrom('text', 'name', 'owner'),
      fc.constantFrom('', 'not.'),
      fc.constantFrom('eq', 'neq', 'gt', 'like', 'ilike', 'sw', 'ew', 'has', 'isw', 'iew', 'ihas'),
      attack,
    );
    const test = fc.oneof(anything, { arbitrary: fitting, weight: 5 });
    let planned = 0;
    fc.assert(
      fc.property(fc.array(test, { minLength: 1, maxLength: 4 }), (tests) => {
        const search = tests
          .map(([column, not, op, value]) => `${column}=${not}${op}.${encodeURIComponent(marker + value)}`)
          .join('&');
        const text = textOf(search);
        if (text === null) return;
        planned++;
        expect(text).not.toContain(marker);
        expect(text).toMatch(/^[\w\s"."$:()<>=,?@*%[\]]*$/);
      }),
      { numRuns: 3_000 },
    );
    expect(planned).toBeGreaterThan(1_000);
  });

  test('from select, alias, sort keys and column names', () => {
    fc.assert(
      fc.property(attack, fc.constantFrom(...names), (text, known) => {
        const sent = encodeURIComponent(marker + text);
        for (const search of [
          `select=${sent}:${known}`,
          `select=${sent}`,
          `sort=${sent}`,
          `filter=${sent}=1`,
          `or=(${sent}.eq.1)`,
        ]) {
          expect(textOf(search) ?? '').not.toContain(marker);
        }
      }),
    );
    expect(listSql(plan('select=qqq7:name')).text).not.toContain(marker);
  });

  function textOf(search: string): string | null {
    try {
      return listSql(plan(search)).text;
    } catch (error) {
      if (error instanceof Failure) return null;
      throw error;
    }
  }
});

describe('groups', () => {
  const groups = (search: string, of = table) =>
    aggregateSql(planAggregate(of, parseQuery(search, 'aggregate'), () => []));

  test('are made of what the caller sees, and sorted and paged outside', () => {
    const search = 'select=name,n:count(),s:bigint.sum()&int=gt.3&having=n.gt.1&sort=-n&per_page=5&page=2';
    expect(groups(search, own)).toEqual({
      text:
        'select t."a0", t."a1", t."a2", t."a1", t."a0" from (select t."c10" as "a0", count(*) as "a1", ' +
        'sum(t."c13") as "a2" from "app_1"."t_1" t where t."c9" = $1::text and t."c12" > $2::int4 group by 1) t ' +
        'where (t."a1" > $3::int8) order by t."a1" desc, t."a0" limit 6 offset $4::int8',
      values: ['u1', '3', '1', '5'],
    });
  });

  test('time zones are bound, and one group needs no grouping', () => {
    const { text, values } = groups('select=m:timestamptz.month(Europe/Berlin),h:timestamptz.hour()');
    expect(text).toContain(`date_trunc('month', t."c16" at time zone $1::text)::date as "a0"`);
    expect(text).toContain(`date_trunc('hour', t."c16", 'UTC') as "a1"`);
    expect(values).toEqual(['Europe/Berlin']);
    expect(groups('select=count()').text).not.toContain('group by');
  });
});

test('a list without distinct has no other statement than before', () => {
  const { text } = listSql(plan('int=gt.3&sort=name'));
  expect(text).toBe(
    `select ${table.all.sql}, t."c10", t."c1" from "app_1"."t_1" t where t."c12" > $1::int4 order by t."c10", t."c1" limit 51`,
  );
  expect(listSql(plan('int=gt.3&distinct=name&sort=name')).text).toBe(
    `select ${table.all.sql}, t."c10", t."c1" from (select t.*, row_number() over (partition by t."c10" ` +
      `order by t."c10", t."c1") as "svc rank" from "app_1"."t_1" t where t."c12" > $1::int4) t ` +
      'where t."svc rank" = 1 order by t."c10", t."c1" limit 51',
  );
});
