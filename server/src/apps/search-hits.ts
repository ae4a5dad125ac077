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
const likenessesMax = 500;
/** A flag of PostgreSQL's ranking: the shorter a name, the more of it is what was asked for. */
const dividedByLength = 2;
/** Shorter words have no likeness worth the name. */
const trigramChars = 4;
/** In a short word one wrong letter leaves as much as an altogether different one has in common. */
const shortChars = 5;
const likenessOfShortMin = 0.45;

/**
 * `with … hits (id, rank)`: apps that `here` lets through. One of that very name first, then words and beginnings of
 * words in names, then anywhere. Each step is bounded, and looks no further where the one before found enough; likeness
 * is worked out only where words found little, since on a common one it would be for nearly every app.
 */
export function hitsSql({ text, words }: SearchWords, here: RawBuilder<unknown>): RawBuilder<unknown> {
  const begins = words.map((word) => `${word}:*`).join(' & ');
  const alike = alikeSql(likenessOf(text, words), here);
  return sql`with exact as materialized (
      select apps.id, 4::float8 as rank from svc.apps where apps.slug = ${text} and ${here}
      union all
      select apps.id, 4 from svc.apps where lower(apps.name) = ${text} and ${here}),
    named as materialized (
      select apps.id, 2 + ts_rank(apps.search_names, asked.words, ${dividedByLength})::float8 as rank
      from svc.apps, to_tsquery('simple', ${begins}) as asked (words)
      where apps.search_names @@ asked.words and ${here} limit ${searchHitsMax}),
    told as materialized (
      select apps.id, 1 + ts_rank('{0.1, 0.2, 0.5, 1}', apps.search_words, asked.words)::float8 as rank
      from svc.apps, to_tsquery('simple', ${begins}) as asked (words)
      where (select count(*) < ${searchHitsMax} from named) and apps.search_words @@ asked.words and ${here}
      limit ${searchHitsMax}),
    ${alike.with}
    hits as materialized (
      select id, max(rank) as rank from (
        select * from exact union all select * from named union all select * from told ${alike.all}) as found
      group by id)`;
}

interface Likeness {
  alike: readonly string[];
  /** Too short to be mistyped and still be known: as they are. */
  asTyped: readonly string[];
}

/** Where no word is long enough, all of them together are. */
function likenessOf(text: string, words: readonly string[]): Likeness {
  const isLong = (word: string) => [...word].length >= trigramChars;
  if (words.length > 1 && !words.some(isLong)) return { alike: [text], asTyped: [] };
  return { alike: words.filter(isLong), asTyped: words.filter((word) => !isLong(word)) };
}

function alikeSql({ alike, asTyped }: Likeness, here: RawBuilder<unknown>) {
  if (alike.length === 0) return { with: sql``, all: sql`` };
  const isNear = [
    ...alike.map((word) => sql`${word} <% apps.search_text`),
    ...asTyped.map((word) => sql`apps.search_words @@ to_tsquery('simple', ${`${word}:*`})`),
  ];
  const likeness = alike.map((word) => sql`word_similarity(${word}, near.search_text)`);
  const isAlike = alike
    .filter((word) => [...word].length <= shortChars)
    .map((word) => sql`word_similarity(${word}, near.search_text) >= ${likenessOfShortMin}`);
  return {
    with: sql`near as materialized (
      select apps.id, apps.search_text from svc.apps
      where (select count(*) < ${enoughByWords} from named) and (select count(*) < ${enoughByWords} from told)
        and ${sql.join(isNear, sql` and `)} and ${here}
      limit ${likenessesMax}),
    alike as (
      select id, ((${sql.join(likeness, sql` + `)}) / ${alike.length}::int)::float8 as rank from near
      where ${isAlike.length === 0 ? sql`true` : sql.join(isAlike, sql` and `)}),`,
    all: sql`union all select * from alike`,
  };
}
