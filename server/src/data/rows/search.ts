import { searchCharsMax, searchTermsMax, snippetKey } from '@svc/contract/search.ts';
import { escapeIdentifier as ident } from 'pg';
import { validationError } from '../../core/problem.ts';
import type { CatalogueColumn } from '../tables/catalogue.ts';
import { anyOf, isNever, type PlannedCondition } from '../tables/conditions.ts';
import { joinedVectors } from '../tables/ddl.ts';
import { bindAs, conditionSql, type Values } from './condition-sql.ts';
import type { PlannedSort } from './plan.ts';
import { createOutput, type Output, type RowTable } from './row-table.ts';

export interface SearchTerm {
  text: string;
  negated: boolean;
}

export interface PlannedSearch {
  language: string;
  columns: readonly SearchedColumn[];
  /** One of the alternatives must apply, with all of its terms. A text is a `tsquery`. */
  alternatives: readonly (readonly SearchTerm[])[];
  query: string;
  hasSnippet: boolean;
  /** By relevance; then at most so many matches are read as can be ranked. */
  isRanked: boolean;
}

interface SearchedColumn {
  column: CatalogueColumn;
  vector: string;
  when: PlannedCondition | null;
}

/** In the form of search engines: `tea pot`, `"tea pot"`, `-green`, `tea or coffee`. */
export function parseSearch(text: string): SearchTerm[][] {
  if (text.length > searchCharsMax)
    throw validationError('search', `can have at most ${searchCharsMax} characters`, 'too_long');
  const alternatives: SearchTerm[][] = [[]];
  let terms = 0;
  for (const [, minus, phrase, word] of text.matchAll(/(-?)(?:"([^"]*)"?|([^\s"]+))/g)) {
    const term = phrase ?? word ?? '';
    if (phrase === undefined && term.toLowerCase() === 'or' && minus === '') {
      alternatives.push([]);
      continue;
    }
    if (!/[\p{L}\p{N}]/u.test(term)) continue;
    if (++terms > searchTermsMax)
      throw validationError('search', `can have at most ${searchTermsMax} words and phrases`, 'too_many');
    alternatives.at(-1)?.push({ text: term, negated: minus === '-' });
  }
  return alternatives.filter((each) => each.length > 0);
}

/** The columns of the index that the caller sees in the clear, at least in some rows. */
export function searchedColumns({ catalogue, view }: RowTable): SearchedColumn[] {
  return (catalogue.search?.columns ?? []).flatMap(({ column: source, vector }): SearchedColumn[] => {
    if (view.columns === null) return [{ column: source, vector, when: null }];
    const seen = view.columns.find((each) => each.source === source && each.column.name !== '');
    if (!seen) return [];
    if (seen.cases.length === 0) return [{ column: seen.column, vector, when: null }];
    const when = anyOf(seen.cases.flatMap(({ when, mask }) => (mask === null ? [when] : [])));
    return isNever(when) ? [] : [{ column: seen.column, vector, when }];
  });
}

/** Inside the view of a caller: its vectors, null in rows in which the column is masked. */
export function vectorItems({ search }: RowTable, values: Values): string[] {
  return (search?.columns ?? []).map(({ vector, when }) => {
    const plain = `t.${ident(vector)}`;
    return `${when === null ? plain : `case when ${conditionSql(when, values)} then ${plain} end`} as ${ident(vector)}`;
  });
}

/**
 * On stored rows, for the index: the words that are looked for, in any of its columns. It says nothing about columns that the
 * caller does not see, since `searchConditions` then asks for the words in the others. Null if an alternative has no such word.
 */
export function indexedCondition({ search, catalogue }: RowTable, values: Values): string | null {
  const all = catalogue.search?.columns ?? [];
  const queries = search?.alternatives.map(positiveQuery) ?? [];
  if (queries.length === 0 || queries.includes('')) return null;
  const vectors = joinedVectors(
    all.map(({ vector }) => vector),
    't.',
  );
  return `(${vectors}) @@ ${bindAs(values, queries.map((query) => `(${query})`).join(' | '), 'tsquery')}`;
}

const positiveQuery = (terms: readonly SearchTerm[]) =>
  terms.flatMap(({ text, negated }) => (negated ? [] : [`(${text})`])).join(' & ');

export function searchConditions({ search, catalogue }: RowTable, values: Values): string[] {
  if (!search) return [];
  const isWhole =
    search.columns.length === catalogue.search?.columns.length &&
    search.columns.every(({ when }) => when === null);
  // A phrase must be in one column: in the joined words it may begin in one and end in the next.
  const isExact = search.alternatives.every((terms) =>
    terms.every(({ text, negated }) => !negated && !text.includes('<')),
  );
  if (isWhole && isExact && search.alternatives.length > 0) return [];
  const termSql = ({ text, negated }: SearchTerm) => {
    const query = bindAs(values, text, 'tsquery');
    const found = search.columns.map(({ vector }) => `t.${ident(vector)} @@ ${query}`).join(' or ');
    return negated ? `(${found}) is not true` : `(${found})`;
  };
  const alternatives = search.alternatives.map((terms) => terms.map(termSql).join(' and '));
  return [alternatives.length === 0 ? 'false' : `(${alternatives.join(' or ')})`];
}

const made = { name: snippetKey, default: null, role: 'plain', nullable: false } as const;
const snippetColumn: CatalogueColumn = { ...made, physical: 'svc snippet', type: 'text' };
export const scoreColumn: CatalogueColumn = { ...made, name: '', physical: 'svc score', type: 'float' };

export function rankedSort(table: RowTable): PlannedSort[] {
  return [scoreColumn, table.order].map((column) => ({ column, descending: true }));
}

export function withSnippet({ search }: RowTable, output: Output): Output {
  if (!search?.hasSnippet || output.columns.some(({ key }) => key === snippetKey)) return output;
  return createOutput([...output.columns, { column: snippetColumn, key: snippetKey }]);
}

/** The columns whose values are in the answer: snippets are of columns that may not be selected. */
export function withSearchedColumns({ search }: RowTable, output: Output): Output {
  if (!search) return output;
  const selected = output.columns.filter(({ column }) => column !== snippetColumn);
  const others = search.columns.filter(({ column }) => selected.every((each) => each.column !== column));
  return createOutput([...selected, ...others.map(({ column }) => ({ column, key: column.name }))]);
}
