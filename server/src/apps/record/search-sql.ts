import { searchHitsMax } from '@svc/contract/app-lists.ts';
import { type RawBuilder, sql } from 'kysely';

export interface SearchWords {
  text: string;
  /** Letters, marks and digits only: nothing that text search would parse as an operator. */
  words: readonly string[];
}

/** Similarity is searched only when fewer apps match by words. */
const wordMatchesEnough = 20;
const similarMax = 500;
/** PostgreSQL `ts_rank` normalization flag: divides the rank by the document length. */
const normalizeByLength = 2;
const trigramChars = 4;
/** In a short word, one typo leaves as few common trigrams as an unrelated word has. */
const shortChars = 5;
const shortSimilarityMin = 0.45;

/**
 * `with … hits (id, rank)` over apps that match `condition`: exact name first, then words and prefixes in names,
 * then anywhere. Each step is bounded and skipped when the one before found enough; similarity would visit
 * nearly every app for a common word.
 */
export function hitsSql({ text, words }: SearchWords, condition: RawBuilder<unknown>): RawBuilder<unknown> {
  const prefixes = words.map((word) => `${word}:*`).join(' & ');
  const similar = similaritySql(splitBySimilarity(text, words), condition);
  return sql`with exact as materialized (
      select apps.id, 4::float8 as rank from svc.apps where apps.slug = ${text} and ${condition}
      union all
      select apps.id, 4 from svc.apps where lower(apps.name) = ${text} and ${condition}),
    named as materialized (
      select apps.id, 2 + ts_rank(apps.search_names, query.words, ${normalizeByLength})::float8 as rank
      from svc.apps, to_tsquery('simple', ${prefixes}) as query (words)
      where apps.search_names @@ query.words and ${condition} limit ${searchHitsMax}),
    described as materialized (
      select apps.id, 1 + ts_rank('{0.1, 0.2, 0.5, 1}', apps.search_words, query.words)::float8 as rank
      from svc.apps, to_tsquery('simple', ${prefixes}) as query (words)
      where (select count(*) < ${searchHitsMax} from named) and apps.search_words @@ query.words and ${condition}
      limit ${searchHitsMax}),
    ${similar.with}
    hits as materialized (
      select id, max(rank) as rank from (
        select * from exact union all select * from named union all select * from described ${similar.all}) as found
      group by id)`;
}

interface SimilarityTerms {
  similar: readonly string[];
  /** Too short for similarity: matched exactly. */
  literal: readonly string[];
}

/** When no word is long enough, the whole text is compared. */
function splitBySimilarity(text: string, words: readonly string[]): SimilarityTerms {
  const isLong = (word: string) => [...word].length >= trigramChars;
  if (words.length > 1 && !words.some(isLong)) return { similar: [text], literal: [] };
  return { similar: words.filter(isLong), literal: words.filter((word) => !isLong(word)) };
}

function similaritySql({ similar, literal }: SimilarityTerms, condition: RawBuilder<unknown>) {
  if (similar.length === 0) return { with: sql``, all: sql`` };
  const matches = [
    ...similar.map((word) => sql`${word} <% apps.search_text`),
    ...literal.map((word) => sql`apps.search_words @@ to_tsquery('simple', ${`${word}:*`})`),
  ];
  const scores = similar.map((word) => sql`word_similarity(${word}, near.search_text)`);
  const shortWords = similar
    .filter((word) => [...word].length <= shortChars)
    .map((word) => sql`word_similarity(${word}, near.search_text) >= ${shortSimilarityMin}`);
  return {
    with: sql`near as materialized (
      select apps.id, apps.search_text from svc.apps
      where (select count(*) < ${wordMatchesEnough} from named) and (select count(*) < ${wordMatchesEnough} from described)
        and ${sql.join(matches, sql` and `)} and ${condition}
      limit ${similarMax}),
    similar_apps as (
      select id, ((${sql.join(scores, sql` + `)}) / ${similar.length}::int)::float8 as rank from near
      where ${shortWords.length === 0 ? sql`true` : sql.join(shortWords, sql` and `)}),`,
    all: sql`union all select * from similar_apps`,
  };
}

const wordsMax = 10;

/** `Pet-Shp!` → `pet`, `shp`. */
export function searchWords(q: string): SearchWords {
  const text = q.normalize('NFC').toLowerCase().trim();
  const words = new Set(text.match(/[\p{L}\p{N}\p{M}]+/gu) ?? []);
  return { text, words: [...words].slice(0, wordsMax) };
}
