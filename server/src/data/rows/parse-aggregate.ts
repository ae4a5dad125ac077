/** Grammar: `status,n:count(),total:amount.sum(),month:created_at.month(Europe/Berlin)` */
import { type Condition, FilterError, parseGroup, type Tally } from '@svc/contract/filter.ts';
import {
  type AggregateFunction,
  aggregateFunctions,
  aggregateItemsMax,
  type DatePart,
  dateParts,
} from '@svc/contract/rows.ts';
import { validationError } from '../../core/problem.ts';

export type AggregateItem = { alias: string } & (
  | { kind: 'column'; column: string }
  | { kind: 'period'; column: string; part: DatePart; zone: string | null }
  | { kind: 'value'; column: string | null; name: AggregateFunction }
);

const aliasPattern = /^[A-Za-z][A-Za-z0-9_]{0,62}$/;

export function splitAlias(item: string): { alias: string | null; rest: string } {
  const colon = item.indexOf(':');
  if (colon < 0) return { alias: null, rest: item };
  const alias = item.slice(0, colon);
  if (!aliasPattern.test(alias)) {
    throw validationError('select', 'an alias must be a letter followed by at most 62 letters, digits or _');
  }
  return { alias, rest: item.slice(colon + 1) };
}

export function parseAggregates(text: string): AggregateItem[] {
  const texts = text.split(',', aggregateItemsMax + 1);
  if (texts.length > aggregateItemsMax)
    throw validationError('select', `can have at most ${aggregateItemsMax} items`, 'too_many');
  const keys = new Set<string>();
  return texts.map((each) => {
    const item = parseItem(each);
    if (keys.has(item.alias))
      throw validationError('select', 'has two values with the same key', 'duplicate');
    keys.add(item.alias);
    return item;
  });
}

const form =
  'must have the form column, alias:column, count(), column.sum() or column.month(Europe/Berlin); functions: ' +
  `${[...aggregateFunctions, ...dateParts].join(' ')}`;
const callPattern = /^(?:(.+)\.)?([a-z_]+)\(([^()]*)\)$/s;

function parseItem(text: string): AggregateItem {
  const { alias, rest } = splitAlias(text);
  if (rest === '') throw validationError('select', form);
  if (!rest.endsWith(')')) return { alias: alias ?? rest, kind: 'column', column: rest };
  const [, column = null, name = '', argument = ''] = callPattern.exec(rest) ?? [];
  const key = alias ?? (column === null ? name : `${column}_${name}`);
  const part = dateParts.find((each) => each === name);
  if (part && column !== null) {
    if (argument !== '' && !isTimeZone(argument))
      throw validationError('select', 'has an unknown time zone; use a name such as Europe/Berlin');
    return {
      alias: key,
      kind: 'period',
      column,
      part,
      zone: ['', 'UTC'].includes(argument) ? null : argument,
    };
  }
  const computed = aggregateFunctions.find((each) => each === name);
  if (!computed || argument !== '' || (column === null && computed !== 'count'))
    throw validationError('select', form);
  return { alias: key, kind: 'value', column, name: computed };
}

/** Names only: in offsets such as `+02:00`, PostgreSQL counts to the west. */
function isTimeZone(text: string): boolean {
  if (!/^[A-Za-z][A-Za-z0-9_+/-]{0,63}$/.test(text)) return false;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: text }) !== null;
  } catch {
    return false;
  }
}

export function parseHaving(text: string, tally: Tally): Condition {
  try {
    return parseGroup('and', `(${text})`, tally);
  } catch (error) {
    throw error instanceof FilterError ? new FilterError('having', error.detail, error.code) : error;
  }
}
