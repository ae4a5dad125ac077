import { useSearchParams } from 'wouter';

/** A filter that stands in the address, so that a link and the back button keep it. Empty is absent. */
export function useSearchValue(name: string): [string, (value: string) => void] {
  const [search, setSearch] = useSearchParams();
  const set = (value: string) => setSearch((before) => withValue(before, name, value));
  return [search.get(name) ?? '', set];
}

/** Another filter begins at its first page. */
export function withValue(search: URLSearchParams, name: string, value: string): URLSearchParams {
  const changed = new URLSearchParams(search);
  if (value === '') changed.delete(name);
  else changed.set(name, value);
  if (name !== 'page') changed.delete('page');
  return changed;
}

/** The page of a list that the address asks for. */
export function usePage(): number {
  const [search] = useSearchParams();
  const page = Number(search.get('page') ?? '1');
  return Number.isSafeInteger(page) && page > 0 ? page : 1;
}
