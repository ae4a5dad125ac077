/** Full-text search over columns of a table. */
import { words } from './words.ts';

export const searchWeights = ['A', 'B', 'C', 'D'] as const;
export type SearchWeight = (typeof searchWeights)[number];

/** The configurations that PostgreSQL has; `simple` compares words as they are written. */
export const searchLanguages = [
  'simple',
  ...words(
    'arabic armenian basque catalan danish dutch english finnish french german greek hindi hungarian indonesian irish ' +
      'italian lithuanian nepali norwegian portuguese romanian russian serbian spanish swedish tamil turkish yiddish',
  ),
] as [string, ...string[]];

export const searchCharsMax = 500;
export const searchTermsMax = 20;
/** Characters of each column that are searched. */
export const searchedCharsMax = 50_000;
/** Ranking reads each match: of more than these, the first are ranked. */
export const rankedMatchesMax = 1_000;
/** In each row of a list with a search. */
export const snippetKey = '_snippet';
