import { rankedMatchesMax } from '@svc/contract/search.ts';
import { escapeIdentifier as ident, escapeLiteral as literal } from 'pg';
import { validationError } from '../../core/problem.ts';
import { joinedVectors, languageSql } from '../tables/ddl.ts';
import { bindAs, dialectOf, type Values, valuesFor } from './condition-sql.ts';
import type { RowsCtx } from './context.ts';
import type { ParsedQuery } from './parse-query.ts';
import type { ListPlan } from './plan.ts';
import { columnRef, type RowTable } from './row-table.ts';
import { type PlannedSearch, parseSearch, type SearchTerm, scoreColumn, searchedColumns } from './search.ts';
import { afterSql, columnsSql, fromClause, listFrom, orderSql, type Statement } from './sql.ts';

export const rankedNote = `More than ${rankedMatchesMax} rows match: only the first ${rankedMatchesMax} that the database found are listed by relevance. Add a word, a filter or sort.`;

export async function searchedTable(
  ctx: Pick<RowsCtx, 'rowDb'>,
  table: RowTable,
  query: ParsedQuery,
  { isPage = false } = {},
): Promise<RowTable> {
  if (query.search === null) return table;
  const columns = searchedColumns(table);
  const language = table.catalogue.search?.language;
  if (language === undefined || columns.length === 0)
    throw validationError(
      'search',
      `needs a search index, which the table does not have. An owner can add one: svc tables indexes add ${table.catalogue.name} --app <app> --search <column>:A --execute`,
      'no_search_index',
    );
  const alternatives = await normalizeTerms(ctx, language, parseSearch(query.search));
  if (alternatives.length === 0)
    query.notes.push('search: it has no word that is searched for, such as one that is not too common.');
  const search: PlannedSearch = {
    language,
    columns,
    alternatives,
    query: [
      ...new Set(alternatives.flat().flatMap(({ text, negated }) => (negated ? [] : [`(${text})`]))),
    ].join(' | '),
    hasSnippet: isPage,
    isRanked: isPage && query.sort.length === 0 && query.distinct.length === 0,
  };
  return { ...table, search };
}

const known = new Map<string, string>();
const knownMax = 2_000;

/** The terms as PostgreSQL looks for them, in the forms of the language; without words that are too common to be indexed. */
async function normalizeTerms(
  { rowDb }: Pick<RowsCtx, 'rowDb'>,
  language: string,
  alternatives: readonly (readonly SearchTerm[])[],
): Promise<SearchTerm[][]> {
  const key = (text: string) => `${language} ${text}`;
  const unknown = [...new Set(alternatives.flat().map(({ text }) => text))].filter(
    (text) => !known.has(key(text)),
  );
  if (unknown.length > 0) {
    const forms = unknown.map(
      (_, at) => `phraseto_tsquery(${languageSql(language)}, $${at + 1}::text)::text`,
    );
    const { rows } = await rowDb.run('point', `select ${forms.join(', ')}`, unknown);
    if (known.size + unknown.length > knownMax) known.clear();
    for (const [at, text] of unknown.entries()) known.set(key(text), rows[0]?.[at] ?? '');
  }
  return alternatives
    .map((terms) => terms.map((term) => ({ ...term, text: known.get(key(term.text)) ?? '' })))
    .map((terms) => terms.filter(({ text }) => text !== ''))
    .filter((terms) => terms.length > 0);
}

/** The rows of a page first: scores and snippets are computed for as few rows as possible. */
export function searchSql(plan: ListPlan): Statement {
  const values = valuesFor(plan.table);
  const { search } = plan.table;
  if (!search) throw new Error('The plan has no search.');
  const query = search.query === '' ? `''::tsquery` : bindAs(values, search.query, 'tsquery');
  const source = listFrom(plan, values);
  if (search.isRanked) {
    const found = `(select t.* from ${fromClause(source)} limit ${rankedMatchesMax + 1}) t`;
    const score = `${scoreSql(search, query)} as ${ident(scoreColumn.physical)}`;
    source.from = `(select t.*, ${score}, count(*) over () as ${foundColumn} from ${found}) t`;
    source.conditions = [];
  }
  if (plan.after) source.conditions.push(afterSql(plan, plan.after, values));
  const order = orderSql(plan.sort, values);
  const page = `select t.* from ${fromClause(source)} order by ${order} limit ${plan.perPage + 1}${offsetSql(plan, values)}`;
  const shown = `select t.*, ${snippetSql(search, query)} as ${ident('svc snippet')} from (${page}) t`;
  const keys = plan.sort.map(({ column }) => columnRef(column));
  if (search.isRanked) keys.push(`t.${foundColumn}`);
  return { text: `select ${columnsSql(plan.output, keys)} from (${shown}) t order by ${order}`, values };
}

function offsetSql({ page, perPage }: ListPlan, values: Values): string {
  if (page === 1) return '';
  values.push(String((page - 1) * perPage));
  return ` offset ${dialectOf(values).offset(`$${values.length}`)}`;
}

const foundColumn = ident('svc found');

function scoreSql({ columns }: PlannedSearch, query: string): string {
  const vectors = joinedVectors(
    columns.map(({ vector }) => vector),
    't.',
  );
  return `ts_rank(${vectors}, ${query})::float8`;
}

/** Only the beginning of longer texts: PostgreSQL reads the whole text for a snippet. */
const snippetCharsMax = 10_000;
const headline = `StartSel=\u0002, StopSel=\u0003, MaxFragments=2, MinWords=6, MaxWords=18, FragmentDelimiter=" … "`;

/** HTML with `<mark>` and nothing else: what the columns contain is escaped. */
function snippetSql({ language, columns }: PlannedSearch, query: string): string {
  const texts = columns.map(({ column }) => columnRef(column)).join(', ');
  const source = `translate(left(concat_ws(' … ', ${texts}), ${snippetCharsMax}), chr(2) || chr(3), '')`;
  const marked = `ts_headline(${languageSql(language)}, ${source}, ${query}, ${literal(headline)})`;
  return replacements.reduce((text, [from, to]) => `replace(${text}, ${from}, ${literal(to)})`, marked);
}

const replacements = [
  [`'&'`, '&amp;'],
  [`'<'`, '&lt;'],
  [`'>'`, '&gt;'],
  [`'"'`, '&quot;'],
  ['chr(2)', '<mark>'],
  ['chr(3)', '</mark>'],
] as const;
