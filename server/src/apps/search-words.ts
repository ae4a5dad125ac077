import type { SearchWords } from './search-hits.ts';

const wordsMax = 10;

/** `Pet-Shp!` → pet and shp. */
export function searchWords(q: string): SearchWords {
  const text = q.normalize('NFC').toLowerCase().trim();
  const words = new Set(text.match(/[\p{L}\p{N}\p{M}]+/gu) ?? []);
  return { text, words: [...words].slice(0, wordsMax) };
}
