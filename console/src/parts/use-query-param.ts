import { useSearchParams } from 'wouter';
import { withValue } from './use-search-value.ts';

/**
 * A word in the query string of the address: what is looked at can be sent to somebody, and the back button finds it.
 * What is usual is not said there; what is none of the known words counts as the usual. What is typed letter by letter
 * takes `useSearchText`.
 */
export function useQueryParam<T extends string>(
  name: string,
  usual: T,
  known?: readonly T[],
): [T, (value: T) => void] {
  const [search, setSearch] = useSearchParams();
  const said = search.get(name) as T | null;
  const value = said === null || (known && !known.includes(said)) ? usual : said;
  return [value, (next) => setSearch((before) => withValue(before, name, next === usual ? '' : next))];
}
