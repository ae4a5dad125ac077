import { expect, test } from 'bun:test';
import { etagOf, knowsEtag, matchesEtag } from './etag.ts';

test('If-Match holds for the tag itself, in a list, for a star and when absent; never for another or a weak one', () => {
  const etag = etagOf({ version: 3 });
  for (const good of [undefined, '*', '"3"', '"1", "3"', ' "3" '])
    expect([good, matchesEtag(good, etag)]).toEqual([good, true]);
  for (const bad of ['"2"', 'W/"3"', '3', '', '"33"'])
    expect([bad, matchesEtag(bad, etag)]).toEqual([bad, false]);
});

test('If-None-Match holds for the tag itself, weak or not, in a list and for a star; not when absent', () => {
  const etag = etagOf({ version: 3 });
  for (const known of ['*', '"3"', 'W/"3"', '"1", W/"3"', ' "3" '])
    expect([known, knowsEtag(known, etag)]).toEqual([known, true]);
  for (const unknown of [null, '', '"2"', '3', '"33"'])
    expect([unknown, knowsEtag(unknown, etag)]).toEqual([unknown, false]);
});
