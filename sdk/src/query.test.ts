import { describe, expect, test } from 'bun:test';
import { createClient } from './client.ts';
import type { Query } from './query.ts';
import { emptyPage, scriptedServer } from './testing.ts';

interface Todo {
  id: string;
  title: string;
  done: boolean;
  rank: number | string;
  score: number;
  due: string | null;
  labels: { [key: string]: string };
  created_at: string;
}

const server = scriptedServer();
const client = createClient({
  baseUrl: `${server.baseUrl}/`,
  tenant: 'acme',
  app: 'todo app',
  auth: { apiKey: 'svcpat_x' },
});
const todos = client.table<Todo>('todos');

async function asked(query: Pick<Query<Todo, unknown>, 'list'>): Promise<[string, string][]> {
  server.answerWith(emptyPage);
  await query.list();
  return server.seen[0]!.query;
}

test('a request names tenant, app and table, with the key in its header', async () => {
  expect(await asked(todos)).toEqual([]);
  const [{ method, path, headers }] = server.seen as [(typeof server.seen)[0]];
  expect([method, path]).toEqual(['GET', '/data/acme/todo%20app/todos']);
  expect([headers.get('x-api-key'), headers.get('authorization')]).toEqual(['svcpat_x', null]);
});

describe('conditions', () => {
  const date = new Date('2026-01-31T09:30:00.120Z');
  const cases: [string, Pick<Query<Todo, unknown>, 'list'>, string, string][] = [
    ['eq', todos.eq('title', 'a'), 'title', 'eq.a'],
    ['a value that looks like an operator', todos.eq('title', 'gt.5'), 'title', 'eq.gt.5'],
    ['a value with punctuation', todos.eq('title', 'a,b("c")&d=e+f %'), 'title', 'eq.a,b("c")&d=e+f %'],
    ['an empty value', todos.eq('title', ''), 'title', 'eq.'],
    ['neq', todos.neq('score', 1.5), 'score', 'neq.1.5'],
    ['gt with a bigint', todos.gt('rank', 9_223_372_036_854_775_807n), 'rank', 'gt.9223372036854775807'],
    ['gte with a date', todos.gte('due', date), 'due', 'gte.2026-01-31T09:30:00.120Z'],
    ['lt with minus zero', todos.lt('score', -0), 'score', 'lt.-0'],
    ['lte', todos.lte('score', 1e21), 'score', 'lte.1e+21'],
    ['eq of a boolean', todos.eq('done', true), 'done', 'eq.true'],
    [
      'in',
      todos.in('title', ['a', 'b c', 'd,e', '"', '\\', '', ')']),
      'title',
      'in.(a,"b c","d,e","\\"","\\\\","",")")',
    ],
    ['in of nothing', todos.in('title', []), 'title', 'in.()'],
    ['in of numbers', todos.in('rank', [1, 2n, '3']), 'rank', 'in.(1,2,3)'],
    [
      'between',
      todos.between('due', date, '2027-01-01T00:00:00+09:00'),
      'due',
      'between.(2026-01-31T09:30:00.120Z,"2027-01-01T00:00:00+09:00")',
    ],
    ['is null', todos.is('due', null), 'due', 'is.null'],
    ['is not null', todos.is('due', 'not_null'), 'due', 'is.not_null'],
    ['is true', todos.is('done', true), 'done', 'is.true'],
    ['like', todos.like('title', 'a%\\_*'), 'title', 'like.a%\\_*'],
    ['ilike', todos.ilike('title', '%x'), 'title', 'ilike.%x'],
    ['startsWith', todos.startsWith('title', 'a%'), 'title', 'sw.a%'],
    ['endsWith', todos.endsWith('title', 'z'), 'title', 'ew.z'],
    ['contains', todos.contains('title', 'm'), 'title', 'has.m'],
    ['istartsWith', todos.istartsWith('title', 'a'), 'title', 'isw.a'],
    ['iendsWith', todos.iendsWith('title', 'z'), 'title', 'iew.z'],
    ['icontains', todos.icontains('title', 'm'), 'title', 'ihas.m'],
    ['jsonContains', todos.jsonContains('labels', { a: [1, 'x'] }), 'labels', 'cs.{"a":[1,"x"]}'],
    ['jsonContainedIn', todos.jsonContainedIn('labels', { a: null }), 'labels', 'cd.{"a":null}'],
    ['overlaps', todos.overlaps('labels', ['a', 'b,c']), 'labels', 'ov.["a","b,c"]'],
    ['hasKey', todos.hasKey('labels', 'a.b'), 'labels', 'hk.a.b'],
    ['not of a test', todos.not(['title', 'sw', 'Re: ']), 'not', '(title.sw."Re: ")'],
    ['a negated operator', todos.where('title', 'not.in', ['a']), 'title', 'not.in.(a)'],
    [
      'or',
      todos.or([
        ['done', 'is', true],
        ['title', 'eq', 'a,b'],
      ]),
      'or',
      '(done.is.true,title.eq."a,b")',
    ],
    [
      'groups in groups',
      todos.or([
        ['rank', 'gt', 5n],
        {
          and: [
            ['done', 'is', false],
            {
              not: {
                or: [
                  ['due', 'is', null],
                  ['title', 'not.has', ')'],
                ],
              },
            },
          ],
        },
      ]),
      'or',
      '(rank.gt.5,and(done.is.false,not.or(due.is.null,title.not.has.")")))',
    ],
    [
      'and',
      todos.and([
        ['score', 'gte', 1],
        ['score', 'lt', 2],
      ]),
      'and',
      '(score.gte.1,score.lt.2)',
    ],
    ['not of a group', todos.not({ or: [['done', 'is', true]] }), 'not.or', '(done.is.true)'],
    ['not of a not', todos.not({ not: ['done', 'is', true] }), 'not', '(not(done.is.true))'],
    [
      'JSON in a group',
      todos.or([['labels', 'cs', { a: 'x"y' }]]),
      'or',
      '(labels.cs."{\\"a\\":\\"x\\\\\\"y\\"}")',
    ],
  ];
  test.each(cases)('%s', async (_, query, name, value) => {
    expect(await asked(query)).toEqual([[name, value]]);
  });

  test('a value that cannot be compared is rejected before any request', async () => {
    server.answerWith(emptyPage);
    const wrong = [null, undefined, Number.NaN, Number.POSITIVE_INFINITY, {}, new Date('x')];
    for (const value of wrong) {
      const attempt = todos.where('title', 'eq', value as string).list();
      expect(await attempt.catch((error) => error)).toBeInstanceOf(Error);
    }
    expect(await todos.or([]).list().catch(String)).toContain('no condition');
    expect(server.seen).toEqual([]);
  });
});

test('select, sort and pages', async () => {
  const query = todos.select('id', 'title', { when: 'created_at' }).sort('-created_at', 'title');
  expect(await asked(query.page(3).perPage(20))).toEqual([
    ['select', 'id,title,when:created_at'],
    ['sort', '-created_at,title'],
    ['page', '3'],
    ['per_page', '20'],
  ]);
  expect(await asked(query.page(3).after('c.x'))).toContainEqual(['cursor', 'c.x']);
  const { data } = await query.list();
  const rows: { id: string; title: string; when: string }[] = data;
  expect(rows).toEqual([]);
});

test('a query is never changed by narrowing it', async () => {
  const open = todos.is('done', false);
  const mine = open.eq('title', 'a');
  expect(await asked(open)).toEqual([['done', 'is.false']]);
  expect(await asked(mine)).toEqual([
    ['done', 'is.false'],
    ['title', 'eq.a'],
  ]);
});

test('all pages are read by cursor, two hundred rows at a time by default', async () => {
  const page = (ids: string[], next: string | null) => () =>
    Response.json({
      data: ids.map((id) => ({ id })),
      page: 1,
      per_page: 200,
      has_more: next !== null,
      next_cursor: next,
    });
  server.answerWith(page(['a', 'b'], 'c1'), page(['c'], null));
  const ids: string[] = [];
  for await (const { id } of todos.sort('title').all()) ids.push(id);
  expect(ids).toEqual(['a', 'b', 'c']);
  expect(server.seen.map(({ query }) => query)).toEqual([
    [
      ['sort', 'title'],
      ['per_page', '200'],
    ],
    [
      ['sort', 'title'],
      ['per_page', '200'],
      ['cursor', 'c1'],
    ],
  ]);
});

test('first requests one row, and returns null if there is none', async () => {
  server.answerWith(emptyPage);
  expect(await todos.eq('id', 'x').first()).toBeNull();
  expect(server.seen[0]!.query).toEqual([
    ['id', 'eq.x'],
    ['per_page', '1'],
  ]);
});

test('a count sends the conditions and its mode', async () => {
  server.answerWith(() => Response.json({ count: 7, mode: 'capped' }));
  expect(await todos.sort('title').is('done', true).count({ mode: 'capped' })).toBe(7);
  expect(server.seen[0]!.path).toBe('/data/acme/todo%20app/todos/_count');
  expect(server.seen[0]!.query).toEqual([
    ['done', 'is.true'],
    ['count', 'capped'],
  ]);
});

test('distinct columns are named under the parameter that no column can hide', async () => {
  expect(await asked(todos.distinct('title', 'done').sort('title'))).toEqual([
    ['sort', 'title'],
    ['_distinct', 'title,done'],
  ]);
  server.answerWith(() => Response.json({ count: 3 }));
  expect(await todos.eq('done', true).distinct('title').count()).toBe(3);
  expect(server.seen[0]?.query).toEqual([
    ['done', 'eq.true'],
    ['_distinct', 'title'],
  ]);
});

test('aggregate sends what to compute, and gives results of their types', async () => {
  const group = { title: 'a', n: 2, total: '18446744073709551614', month: '2026-01-01', due: null };
  server.answerWith(() =>
    Response.json({ data: [group], page: 1, per_page: 10, has_more: false, next_cursor: null }),
  );
  const { data, hasMore } = await todos.gt('score', 1).aggregate({
    select: {
      title: 'title',
      n: 'count()',
      total: 'rank.sum()',
      mean: 'score.avg()',
      month: 'created_at.month(Europe/Berlin)',
      due: 'due.min()',
    },
    having: [
      ['n', 'gt', 1],
      {
        or: [
          ['title', 'eq', 'a,b'],
          ['total', 'is', null],
        ],
      },
    ],
    sort: ['-n', 'title'],
    perPage: 10,
    after: 'x',
  });
  expect(server.seen[0]?.path).toBe('/data/acme/todo%20app/todos/_aggregate');
  expect(server.seen[0]?.query).toEqual([
    ['score', 'gt.1'],
    [
      'select',
      'title,n:count(),total:rank.sum(),mean:score.avg(),month:created_at.month(Europe/Berlin),due:due.min()',
    ],
    ['_having', 'n.gt.1'],
    ['_having', 'or(title.eq."a,b",total.is.null)'],
    ['sort', '-n,title'],
    ['per_page', '10'],
    ['cursor', 'x'],
  ]);
  const [first] = data;
  const typed: { title: string; n: number; total: number | string | null; mean: number | null } | undefined =
    first;
  const month: string | undefined = first?.month;
  expect([typed?.n, month, hasMore]).toEqual([2, '2026-01-01', false]);
  // @ts-expect-error: there is no such column.
  const wrong = () => todos.aggregate({ select: { n: 'nothing.sum()' } });
  // @ts-expect-error: sort has names of the results.
  const wrongSort = () => todos.aggregate({ select: { n: 'count()' }, sort: ['title'] });
  expect([typeof wrong, typeof wrongSort]).toEqual(['function', 'function']);
});
