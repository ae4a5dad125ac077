import type { ColumnType } from '@svc/contract/columns.ts';
import { filterOps } from '@svc/contract/rows.ts';

/** One condition as the row API spells it behind `column=`: `gt.3`, `is.null`, `not.like.a%`. */
export interface Filter {
  column: string;
  text: string;
}

/** A condition as the filter bar shows it: which test, and what it is held against. */
export interface Test {
  op: string;
  value: string;
}

export interface OpChoice {
  op: string;
  label: string;
  /** How the value is written; none: it takes no value. */
  hint?: string;
}

const isEmpty: OpChoice[] = [
  { op: 'is.null', label: 'is null' },
  { op: 'is.not_null', label: 'is not null' },
];
const same: OpChoice[] = [
  { op: 'eq', label: 'is', hint: 'a value' },
  { op: 'neq', label: 'is not', hint: 'a value' },
];
const oneOf: OpChoice = { op: 'in', label: 'is one of', hint: '(a,b,"c,d")' };
const ordered: OpChoice[] = [
  { op: 'gt', label: 'is more than', hint: 'a value' },
  { op: 'gte', label: 'is at least', hint: 'a value' },
  { op: 'lt', label: 'is less than', hint: 'a value' },
  { op: 'lte', label: 'is at most', hint: 'a value' },
  { op: 'between', label: 'is between', hint: '(low,high)' },
];
const words: OpChoice[] = [
  { op: 'ihas', label: 'contains', hint: 'any case' },
  { op: 'isw', label: 'begins with', hint: 'any case' },
  { op: 'iew', label: 'ends with', hint: 'any case' },
];
const inJson: OpChoice[] = [
  { op: 'cs', label: 'contains JSON', hint: '{"size":3}' },
  { op: 'hk', label: 'has the key', hint: 'size' },
];
const isTrue: OpChoice[] = [
  { op: 'is.true', label: 'is true' },
  { op: 'is.false', label: 'is false' },
];
/** For what the others do not say: the condition in the words of the row API. */
export const asWritten: OpChoice = { op: '', label: 'as written', hint: 'not.like.a*' };

export const opsOf: Record<ColumnType, readonly OpChoice[]> = {
  text: [...words, ...same, oneOf, ...ordered, ...isEmpty, asWritten],
  int: [...same, ...ordered, oneOf, ...isEmpty, asWritten],
  bigint: [...same, ...ordered, oneOf, ...isEmpty, asWritten],
  float: [...same, ...ordered, oneOf, ...isEmpty, asWritten],
  bool: [...isTrue, ...isEmpty, asWritten],
  timestamptz: [...ordered, ...same, ...isEmpty, asWritten],
  uuid: [...same, oneOf, ...isEmpty, asWritten],
  jsonb: [...inJson, ...isEmpty, asWritten],
};

/** `column=op.value`, as it stands in an address. */
export function readFilter(text: string): Filter | null {
  const equals = text.indexOf('=');
  return equals < 1 ? null : { column: text.slice(0, equals), text: text.slice(equals + 1) };
}

export const filterText = ({ column, text }: Filter) => `${column}=${text}`;

export function testOf(type: ColumnType, text: string): Test {
  const choices = opsOf[type];
  const whole = choices.find(({ op, hint }) => hint === undefined && op === text);
  if (whole) return { op: whole.op, value: '' };
  const dot = text.indexOf('.');
  const op = text.slice(0, Math.max(dot, 0));
  if (op !== '' && choices.some((choice) => choice.op === op && choice.hint !== undefined)) {
    return { op, value: text.slice(dot + 1) };
  }
  // A bare value is one that the column must be equal to.
  const isBare = !filterOps.some((known) => known === op) && op !== 'not';
  return isBare && choices.some((choice) => choice.op === 'eq')
    ? { op: 'eq', value: text }
    : { op: '', value: text };
}

export function textOf(type: ColumnType, { op, value }: Test): string {
  const choice = opsOf[type].find((each) => each.op === op);
  if (!choice || op === '') return value;
  return choice.hint === undefined ? op : `${op}.${value}`;
}

/** As a sentence, for who reads what is shown. */
export function filterLabel(type: ColumnType, { column, text }: Filter): string {
  const test = testOf(type, text);
  const choice = opsOf[type].find(({ op }) => op === test.op) ?? asWritten;
  if (choice.op === '') return `${column} ${text}`;
  return choice.hint === undefined ? `${column} ${choice.label}` : `${column} ${choice.label} ${test.value}`;
}
