import { isObject } from '@svc/contract/json.ts';
import { countMax } from './discovery.ts';
import { invalidValueError, ScimError } from './errors.ts';
import { normalizePath, parseFilter, type Sort } from './filter.ts';
import { attributeOf } from './patch.ts';

const countDefault = 100;

const searchParameters = [
  'attributes',
  'excludedAttributes',
  'filter',
  'sortBy',
  'sortOrder',
  'startIndex',
  'count',
];

/** RFC 7644 §3.4.3: the parameters of a query in a body, which proxies do not log. */
export function searchQuery(body: unknown): URLSearchParams {
  if (!isObject(body)) throw invalidValueError('The body must be an object.');
  const query = new URLSearchParams();
  for (const parameter of searchParameters) {
    const value = attributeOf(body, parameter) ?? null;
    const texts: unknown[] = Array.isArray(value) ? value : [value];
    if (!texts.every((text) => text === null || typeof text === 'string' || typeof text === 'number'))
      throw invalidValueError(`${parameter} must be a text or a number.`);
    if (value !== null) query.set(parameter, texts.join(','));
  }
  return query;
}

/** RFC 7644 §3.4.2.4: numbers below the minimum count as the minimum. */
export function listQuery(query: URLSearchParams) {
  const number = (name: string, initial: number) => {
    const text = query.get(name);
    if (text === null || text === '') return initial;
    if (!/^-?\d{1,9}$/.test(text))
      throw new ScimError(400, 'invalidValue', `${name} must be a whole number.`);
    return Number(text);
  };
  const startIndex = Math.max(1, number('startIndex', 1));
  const limit = Math.min(countMax, Math.max(0, number('count', countDefault)));
  const filter = query.get('filter');
  return {
    filter: filter ? parseFilter(filter) : null,
    sort: sortOf(query),
    startIndex,
    window: { limit, offset: startIndex - 1 },
  };
}

function sortOf(query: URLSearchParams): Sort | null {
  const by = query.get('sortBy');
  const order = (query.get('sortOrder') || 'ascending').toLowerCase();
  if (order !== 'ascending' && order !== 'descending')
    throw new ScimError(400, 'invalidValue', 'sortOrder must be ascending or descending.');
  return by ? { path: normalizePath(by), isDescending: order === 'descending' } : null;
}

const names = (query: URLSearchParams, parameter: string) =>
  (query.get(parameter) ?? '')
    .split(/[\s,]+/)
    .filter((name) => name !== '')
    .map(normalizePath);

/** RFC 7644 §3.9. `id` and `schemas` are always returned. */
export function isReturned(query: URLSearchParams, attribute: string): boolean {
  const name = attribute.toLowerCase();
  if (name === 'id' || name === 'schemas') return true;
  const requested = names(query, 'attributes');
  if (requested.length > 0) return requested.includes(name) || partsOf(requested, name).length > 0;
  return !names(query, 'excludedAttributes').includes(name);
}

/** `familyname` of `name.familyname`; attributes of an extension follow a colon. */
const partsOf = (paths: readonly string[], name: string) =>
  paths.flatMap((path) =>
    path.startsWith(name) && /^[.:]/.test(path.slice(name.length))
      ? (path.slice(name.length + 1).split('.')[0] ?? [])
      : [],
  );

export function select(resource: object, query: URLSearchParams) {
  const [requested, excluded] = [names(query, 'attributes'), names(query, 'excludedAttributes')];
  const isChoice = requested.length > 0;
  return Object.fromEntries(
    Object.entries(resource).flatMap(([attribute, value]) => {
      if (!isReturned(query, attribute)) return [];
      const name = attribute.toLowerCase();
      const parts = partsOf(isChoice ? requested : excluded, name);
      const isWhole = parts.length === 0 || requested.includes(name);
      return [[attribute, isWhole ? value : selectParts(value, parts, isChoice)]];
    }),
  );
}

function selectParts(value: unknown, parts: readonly string[], isChoice: boolean): unknown {
  if (Array.isArray(value)) return value.map((each) => selectParts(each, parts, isChoice));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).filter(([name]) => parts.includes(name.toLowerCase()) === isChoice),
  );
}
