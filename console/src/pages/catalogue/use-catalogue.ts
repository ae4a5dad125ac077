import type { discoverApps } from '@svc/contract/app-lists.ts';
import type { Input } from '@svc/contract/endpoint.ts';
import { useSearchParams } from 'wouter';
import { useQueryParam } from '../../parts/use-query-param.ts';
import { useSearchText } from '../../parts/use-search-text.ts';
import { usePage, useSearchValue } from '../../parts/use-search-value.ts';

const perPage = 24;

/** The usual order is by how well it fits where words are given, otherwise the newest first. */
export const sorts = ['usual', '-created_at', 'name', '-updated_at'] as const;
export const ages = ['any', '7', '30', '365'] as const;

/** What of the catalogue is asked for; all of it stands in the address. */
export function useCatalogue() {
  const [typed, type, q] = useSearchText('q');
  const [category, setCategory] = useSearchValue('category');
  const [sort, setSort] = useQueryParam('sort', 'usual', sorts);
  const [within, setWithin] = useQueryParam('within', 'any', ages);
  const [, setSearch] = useSearchParams();
  const query: Input<NonNullable<typeof discoverApps.shape>>['query'] = {
    page: usePage(),
    per_page: perPage,
    ...(q.trim() === '' ? {} : { q: q.trim() }),
    ...(category === '' ? {} : { category }),
    ...(sort === 'usual' ? {} : { sort }),
    ...(within === 'any' ? {} : { created_within_days: Number(within) }),
  };
  return {
    query,
    typed,
    type,
    category,
    setCategory,
    sort,
    setSort,
    within,
    setWithin,
    isNarrowed: q.trim() !== '' || category !== '' || within !== 'any',
    clear: () => setSearch(new URLSearchParams()),
  };
}

export type Catalogue = ReturnType<typeof useCatalogue>;
