import { expect, test } from 'bun:test';
import { HeaderList, matchesIfMatch, matchesIfNoneMatch, versionEtag } from './headers.ts';

test('If-Match matches the tag, a list and a star, and where it is absent; never a weak tag', () => {
  const etag = versionEtag({ version: 3 });
  for (const good of [undefined, '*', '"3"', '"1", "3"', ' "3" '])
    expect([good, matchesIfMatch(good, etag)]).toEqual([good, true]);
  for (const bad of ['"2"', 'W/"3"', '3', '', '"33"'])
    expect([bad, matchesIfMatch(bad, etag)]).toEqual([bad, false]);
});

test('If-None-Match matches the tag, weak or not, a list and a star; not where it is absent', () => {
  const etag = versionEtag({ version: 3 });
  for (const known of ['*', '"3"', 'W/"3"', '"1", W/"3"', ' "3" '])
    expect([known, matchesIfNoneMatch(known, etag)]).toEqual([known, true]);
  for (const unknown of [null, '', '"2"', '3', '"33"'])
    expect([unknown, matchesIfNoneMatch(unknown, etag)]).toEqual([unknown, false]);
});

test('a header list does what `Headers` does, in the order of its fields', () => {
  const changes: ((headers: Headers | HeaderList) => void)[] = [
    (headers) => headers.append('accept', 'text/html'),
    (headers) => headers.append('set-cookie', 'a=1'),
    (headers) => headers.append('accept', 'text/plain'),
    (headers) => headers.append('set-cookie', 'b=2, 3'),
    (headers) => headers.set('host', 'one'),
    (headers) => headers.set('host', 'two'),
    (headers) => headers.delete('accept'),
    (headers) => headers.delete('set-cookie'),
    (headers) => headers.delete('absent'),
  ];
  const [list, expected] = [new HeaderList(), new Headers()];
  for (const change of changes) {
    for (const headers of [list, expected]) change(headers);
    expect([...list].sort()).toEqual([...expected].sort());
    expect(list.getSetCookie()).toEqual(expected.getSetCookie());
    for (const name of ['accept', 'host', 'absent'])
      expect([name, list.get(name), list.has(name)]).toEqual([name, expected.get(name), expected.has(name)]);
  }
  expect([
    ...new HeaderList([
      ['b', '1'],
      ['a', '2'],
      ['b', '3'],
    ]),
  ]).toEqual([
    ['b', '1, 3'],
    ['a', '2'],
  ]);
});
