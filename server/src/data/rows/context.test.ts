import { expect, test } from 'bun:test';
import { parseRowsPath } from './context.ts';

const place = { tenant: 't', app: 'a', table: 'x', tablePath: '/data/t/a/x' };

test('a path is a table, its count, its groups or one of its rows', () => {
  expect(parseRowsPath('/data/t/a/x')).toEqual({ ...place, rest: { kind: 'table' } });
  expect(parseRowsPath('/data/t/a/x/_count')).toEqual({ ...place, rest: { kind: 'count' } });
  expect(parseRowsPath('/data/t/a/x/_aggregate')).toEqual({ ...place, rest: { kind: 'aggregate' } });
  expect(parseRowsPath('/data/t/a/x/7')).toEqual({ ...place, rest: { kind: 'row', id: '7' } });
});

test('an id is decoded once, so that slashes, percent signs and _count can be ids', () => {
  for (const [sent, id] of [
    ['a%2Fb', 'a/b'],
    ['a%252Fb', 'a%2Fb'],
    ['%5Fcount', '_count'],
    ['_Count', '_Count'],
    ['__proto__', '__proto__'],
    ['constructor', 'constructor'],
    ['%E6%BC%A2', '漢'],
    ['+', '+'],
    ['%20', ' '],
  ] as const) {
    expect([sent, parseRowsPath(`/data/t/a/x/${sent}`)]).toEqual([
      sent,
      expect.objectContaining({ rest: { kind: 'row', id } }),
    ]);
  }
});

test('names are decoded; the table’s path stays encoded', () => {
  expect(parseRowsPath('/data/%74/a/x%79/1')).toEqual({
    tenant: 't',
    app: 'a',
    table: 'xy',
    tablePath: '/data/%74/a/x%79',
    rest: { kind: 'row', id: '1' },
  });
});

test('paths that are too short, too long or empty are not row paths', () => {
  const paths = ['/data/', '/data/t', '/data/t/a', '/data/t/a/', '/data//a/x', '/data/t//x', '/data/t/a/x/'];
  paths.push('/data/t/a/x/1/', '/data/t/a/x/1/2', '/data/t/a/x//');
  for (const path of paths) expect([path, parseRowsPath(path)]).toEqual([path, null]);
});

test('a badly encoded path is malformed', () => {
  for (const path of ['/data/t/a/x/%', '/data/t/a/x/%E0%A4', '/data/t/a/%ff', '/data/%/a/x']) {
    expect([path, parseRowsPath(path)]).toEqual([path, 'malformed']);
  }
});
