import { isColumnName } from '@svc/contract/columns.ts';
import type { FilterGroup, FilterPart, FilterTest } from './row-filter.ts';

/** As the row API spells it in a query string: `region=eq.eu&or=(age.gt.9,vip.is.true)`. */
export function printRowFilter(root: FilterGroup): string {
  if (root.parts.length === 0) return '';
  if (root.kind === 'and' && !root.negated) return root.parts.map(printPair).join('&');
  return printPair(root);
}

function printPair(part: FilterPart): string {
  if (part.kind !== 'test') return `${groupWord(part)}=${escaped(printItems(part))}`;
  const text = comparison(part, (value) => value);
  return isColumnName(part.column)
    ? `${part.column}=${escaped(text)}`
    : `filter=${escaped(`${part.column}=${text}`)}`;
}

function printItem(part: FilterPart): string {
  if (part.kind !== 'test') return groupWord(part) + printItems(part);
  return `${part.column}.${comparison(part, quotedIfNeeded)}`;
}

const printItems = (group: FilterGroup) => `(${group.parts.map(printItem).join(',')})`;
const groupWord = ({ kind, negated }: FilterGroup) => (negated ? `not.${kind}` : kind);

function comparison({ negated, op, values }: FilterTest, single: (value: string) => string): string {
  const isList = op === 'in' || op === 'between';
  const operand = isList ? `(${values.map(quotedIfNeeded).join(',')})` : single(values[0] ?? '');
  return `${negated ? 'not.' : ''}${op}.${operand}`;
}

/** In a list, commas and brackets end a value, and a quote begins one. */
function quotedIfNeeded(value: string): string {
  return /[,()"\\]/.test(value) ? `"${value.replace(/["\\]/g, '\\$&')}"` : value;
}

/** Only what would be read as something else: the text is for people too. */
const escaped = (text: string) => text.replace(/[%&+#]/g, encodeURIComponent);
