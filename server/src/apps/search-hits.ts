import { searchHitsMax } from '@svc/contract/app-lists.ts';
import { type RawBuilder, sql } from 'kysely';

export interface SearchWords {
  /** As typed, in small letters. */
  text: string;
  /** Of letters, marks and digits alone: nothing that the text search would read as an operator. */
  words: readonly string[];
}

/** Typing errors are looked into where fewer than so many have the words themselves. */
const enoughByWords = 20;
/** Beyond so many that look alike, any of them will do. */
const likenessesMax = 2_000;
/** Shorter words have no likeness worth the name. */
const trigramChars = 3;
/** In a short word one wrong letter leaves as much as an altogether different one has in common. */
const shortChars = 5;
const likenessOfShortMin = 0.45;

/**
 * `with … hits (id, rank)`: apps that `here` lets through, by whole words and beginnings of words first. Likeness is
 * worked out only where those found little: on a common word it would be for nearly every app.
 */
export function hitsSql({ text, words }: SearchWords, here: RawBuilder<unknown>): RawBuilder<unknown> {
  const begins = words.map((word) => `${word}:*`).join(' & ');
  const long = words.filter((word) => [...word].length >= trigramChars);
  return sql`with found as materialized (
      select apps.id, 1 + ts_rank('{0.1, 0.2, 0.5, 1}', apps.search_words, asked.words) + word_similarity(${text}, apps.search_text)
        + case when apps.slug = ${text} or lower(apps.name) = ${text} then 2 else 0 end as rank
      from svc.apps, to_tsquery('simple', ${begins}) as asked (words)
      where apps.search_words @@ asked.words and ${here} limit ${searchHitsMax}),
    ${long.length === 0 ? sql`` : alikeSql(long, here)}
    hits as materialized (
      select id, max(rank)::float8 as rank
      from (select * from found ${long.length === 0 ? sql`` : sql`union all select * from alike`}) as either group by id)`;
}

function alikeSql(words: readonly string[], here: RawBuilder<unknown>): RawBuilder<unknown> {
  const isNear = words.map((word) => sql`${word} <% apps.search_text`);
  const likeness = words.map((word) => sql`word_similarity(${word}, near.search_text)`);
  const isAlike = words
    .filter((word) => [...word].length <= shortChars)
    .map((word) => sql`word_similarity(${word}, near.search_text) >= ${likenessOfShortMin}`);
  return sql`near as materialized (
      select apps.id, apps.search_text from svc.apps
      where (select count(*) < ${enoughByWords} from found) and ${sql.join(isNear, sql` and `)} and ${here}
      limit ${likenessesMax}),
    alike as (
      select id, (${sql.join(likeness, sql` + `)}) / ${words.length}::int as rank from near
      where ${isAlike.length === 0 ? sql`true` : sql.join(isAlike, sql` and `)} order by rank desc limit ${searchHitsMax}),`;
}
