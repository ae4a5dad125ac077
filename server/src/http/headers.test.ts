import { expect, test } from 'bun:test';
import { matchesIfMatch, matchesIfNoneMatch, versionEtag } from './headers.ts';

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
