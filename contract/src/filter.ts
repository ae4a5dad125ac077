/** Grammar: `region=eq.eu&or=(age.gt.9,and(vip.is.true,name.not.like.A*))` */
import { isColumnName, isParameterName } from './columns.ts';
import {
  conditionsMax,
  embedDepthMax,
  type FilterOp,
  filterOps,
  groupDepthMax,
  type IsKeyword,
  inValuesMax,
  isKeywords,
} from './rows.ts';
import { distanceOf } from './suggest.ts';

export type Condition = Test | Group;

export interface Group {
  kind: 'and' | 'or';
  negated: boolean;
  parts: Condition[];
}

export type Test = { kind: 'test'; column: string; negated: boolean } & Comparison;

export type Comparison =
  /** The value as written; of `like` and `ilike` a pattern in which both `*` and `%` match any text. */
  | { op: TextOp; operand: string }
  /** An empty list matches nothing. */
  | { op: 'in'; operand: string[] }
  | { op: 'between'; operand: [string, string] }
  | { op: 'is'; operand: IsKeyword };

export type TextOp = Exclude<FilterOp, 'in' | 'between' | 'is'>;

export class FilterError extends Error {
  constructor(
    readonly field: string,
    readonly detail: string,
    readonly code = 'invalid',
  ) {
    super(`${field}: ${detail}`);
    this.name = 'FilterError';
  }
}

export interface Tally {
  tests: number;
  /** Collects what looks like a mistake but is valid. */
  notes?: string[];
}

export function parseRowFilter(text: string): Condition[] {
  const tally: Tally = { tests: 0 };
  return text
    .split('&')
    .filter(Boolean)
    .map((pair) => {
      const equals = pair.indexOf('=');
      const name = decodeParameter(equals < 0 ? pair : pair.slice(0, equals), 'query');
      // In a URL a bare name has an empty value; in a stored filter it is a mistake.
      if (equals < 0) throw new FilterError(name, pairSyntax);
      const value = decodeParameter(pair.slice(equals + 1), name);
      const condition = parseCondition(name, value, tally);
      if (condition) return condition;
      // Columns of connectors have names of any form.
      if (name !== '' && !isParameterName(name)) return parseTest(name, value, tally);
      throw new FilterError(name, 'is not a column or a group', 'unknown_parameter');
    });
}

const pairSyntax = 'must be written as column=value or column=op.value';

export function parseCondition(name: string, value: string, tally: Tally): Condition | null {
  if (isColumnName(name)) return parseTest(name, value, tally);
  if (isGroupParameter(name)) return parseGroup(name, value, tally);
  if (name !== 'filter') return null;
  const equals = value.indexOf('=');
  if (equals < 1) throw new FilterError(name, pairSyntax);
  return parseTest(value.slice(0, equals), value.slice(equals + 1), tally);
}

/** Form encoding: `+` is a space. Bytes that are not UTF-8 are refused, never replaced. */
export function decodeParameter(text: string, field: string): string {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text;
  if (!spaced.includes('%')) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    throw new FilterError(field, 'is not percent-encoded UTF-8', 'bad_encoding');
  }
}

/** `col=op.value`: the value is verbatim to the end. A text without a leading operator is compared as it is. */
export function parseTest(column: string, text: string, tally: Tally): Test {
  const negated = text.startsWith('not.');
  const opStart = negated ? 4 : 0;
  const op = opAt(text, opStart);
  if (op === null) {
    if (negated && negatesTwice(text))
      throw new FilterError(column, 'only one not. is allowed before an operator');
    countTest(tally, column);
    const note = tally.notes && misspeltOperatorNote(column, text);
    if (note) tally.notes?.push(note);
    return { kind: 'test', column, negated: false, op: 'eq', operand: text };
  }
  const reader: Reader = { text, at: opStart + op.length + 1, field: column, tally };
  const test = readTest(reader, { column, negated, op, readValue: readRest });
  if (reader.at < text.length)
    throw new FilterError(reader.field, 'has text after the list; quote values that contain )');
  return test;
}

export type GroupParameter = 'and' | 'or' | 'not' | 'not.and' | 'not.or';

export function parseGroup(parameter: GroupParameter, text: string, tally: Tally): Group {
  const reader: Reader = { text, at: 0, field: parameter, tally };
  const group = readGroup(reader, groupKinds[parameter], 1);
  if (reader.at < text.length) throw new FilterError(reader.field, 'has text after the group');
  return group;
}

/** A bare `not` negates the conjunction of its conditions. */
const groupKinds: Record<GroupParameter, Pick<Group, 'kind' | 'negated'>> = {
  and: { kind: 'and', negated: false },
  or: { kind: 'or', negated: false },
  not: { kind: 'and', negated: true },
  'not.and': { kind: 'and', negated: true },
  'not.or': { kind: 'or', negated: true },
};
const groupParameters: readonly GroupParameter[] = ['and', 'or', 'not', 'not.and', 'not.or'];

function isGroupParameter(name: string): name is GroupParameter {
  return groupParameters.some((parameter) => parameter === name);
}

interface Reader {
  readonly text: string;
  at: number;
  readonly field: string;
  readonly tally: Tally;
}

function readGroup(reader: Reader, { kind, negated }: Pick<Group, 'kind' | 'negated'>, depth: number): Group {
  if (depth > groupDepthMax)
    throw new FilterError(reader.field, `groups are nested more than ${groupDepthMax} deep`, 'too_deep');
  if (!take(reader, '(')) throw new FilterError(reader.field, 'a group must be written as (a.eq.1,b.gt.2)');
  const parts: Condition[] = [];
  do parts.push(readPart(reader, depth));
  while (take(reader, ','));
  if (!take(reader, ')')) throw new FilterError(reader.field, 'a condition must be followed by , or )');
  return { kind, negated, parts };
}

function readPart(reader: Reader, depth: number): Condition {
  for (const parameter of groupParameters) {
    const bracket = reader.at + parameter.length;
    if (reader.text[bracket] === '(' && reader.text.startsWith(parameter, reader.at)) {
      reader.at = bracket;
      return readGroup(reader, groupKinds[parameter], depth + 1);
    }
  }
  const { text } = reader;
  let dot = text.indexOf('.', reader.at);
  // `author.name.eq.x`: a column of a related row.
  for (let hops = 0; hops <= embedDepthMax; hops++) {
    const column = text.slice(reader.at, Math.max(dot, reader.at));
    if (column === '' || /[,()"]/.test(column)) {
      if (hops > 0) break;
      throw new FilterError(reader.field, 'a condition in a group must be written as column.op.value');
    }
    const negated = text.startsWith('not.', dot + 1);
    const opStart = dot + (negated ? 5 : 1);
    const op = opAt(text, opStart);
    if (op !== null) {
      reader.at = opStart + op.length + 1;
      return readTest(reader, { column, negated, op, readValue: readItem });
    }
    if (negated || !isColumnName(column.split('.', 1)[0] ?? '')) break;
    dot = text.indexOf('.', dot + 1);
  }
  throw new FilterError(reader.field, `an operator must follow the column: ${filterOps.join(' ')}`);
}

interface TestStart {
  column: string;
  negated: boolean;
  op: FilterOp;
  readValue: (reader: Reader) => string;
}

function readTest(reader: Reader, { column, negated, op, readValue }: TestStart): Test {
  countTest(reader.tally, reader.field);
  switch (op) {
    case 'in':
      return { kind: 'test', column, negated, op, operand: readList(reader) };
    case 'between': {
      const [low, high, ...more] = readList(reader);
      if (low === undefined || high === undefined || more.length > 0) {
        throw new FilterError(reader.field, 'between takes two values: between.(1,9)');
      }
      return { kind: 'test', column, negated, op, operand: [low, high] };
    }
    case 'is': {
      const keyword = readValue(reader);
      if (!isKeyword(keyword))
        throw new FilterError(reader.field, `is takes one of ${isKeywords.join(', ')}`);
      return { kind: 'test', column, negated, op, operand: keyword };
    }
    case 'like':
    case 'ilike':
      return { kind: 'test', column, negated, op, operand: checkPattern(reader, readValue(reader)) };
    default:
      return { kind: 'test', column, negated, op, operand: readValue(reader) };
  }
}

function readRest(reader: Reader): string {
  const rest = reader.text.slice(reader.at);
  reader.at = reader.text.length;
  return rest;
}

function readList(reader: Reader): string[] {
  if (!take(reader, '(')) throw new FilterError(reader.field, 'a list must be written as (a,b,"c,d")');
  if (take(reader, ')')) return [];
  const items: string[] = [];
  do {
    if (items.length === inValuesMax) {
      throw new FilterError(reader.field, `a list has at most ${inValuesMax} values`, 'too_many');
    }
    items.push(readItem(reader));
  } while (take(reader, ','));
  if (!take(reader, ')')) throw new FilterError(reader.field, 'a value in a list must be followed by , or )');
  return items;
}

/** The items of `(a,b,"c,d")`, or null if the text is no such list. */
export function parseItems(text: string): string[] | null {
  const reader: Reader = { text, at: 0, field: '', tally: { tests: 0 } };
  try {
    const items = readList(reader);
    return reader.at === text.length ? items : null;
  } catch (error) {
    if (error instanceof FilterError) return null;
    throw error;
  }
}

function readItem(reader: Reader): string {
  const { text, at: start } = reader;
  if (text[start] === '"') return readQuoted(reader);
  let open = 0;
  let at = start;
  for (; at < text.length; at++) {
    const char = text[at];
    if (char === '(') open++;
    else if (char === ')' && --open < 0) break;
    else if (char === ',' && open === 0) break;
  }
  reader.at = at;
  return text.slice(start, at);
}

function readQuoted(reader: Reader): string {
  const { text } = reader;
  let value = '';
  let from = reader.at + 1;
  for (let at = from; at < text.length; at++) {
    const char = text[at];
    if (char === '"') {
      reader.at = at + 1;
      return value + text.slice(from, at);
    }
    if (char !== '\\') continue;
    const escaped = text[at + 1];
    if (escaped !== '"' && escaped !== '\\')
      throw new FilterError(reader.field, 'inside quotes, \\ may only precede " or \\');
    value += text.slice(from, at);
    from = ++at;
  }
  throw new FilterError(reader.field, 'a quoted value has no closing quote');
}

/** A `\\` escapes the next character, so a pattern cannot end with one. */
function checkPattern(reader: Reader, pattern: string): string {
  for (let at = pattern.indexOf('\\'); at >= 0; at = pattern.indexOf('\\', at + 2)) {
    if (at === pattern.length - 1) {
      throw new FilterError(reader.field, 'a pattern must not end in a single \\');
    }
  }
  return pattern;
}

export function toSqlPattern(pattern: string): string {
  return pattern.includes('*')
    ? pattern.replace(/\\.|\*/gs, (match) => (match === '*' ? '%' : match))
    : pattern;
}

const longestOp = Math.max(...filterOps.map((op) => op.length));
const opsByName = new Map<string, FilterOp>(filterOps.map((op) => [op, op]));

function opAt(text: string, at: number): FilterOp | null {
  const dot = text.indexOf('.', at);
  if (dot < 0 || dot - at > longestOp) return null;
  return opsByName.get(text.slice(at, dot)) ?? null;
}

const operatorLike = /^(?:not\.)?([a-z]{2,10})\./;
const operatorsElsewhere: Readonly<Record<string, FilterOp>> = {
  ne: 'neq',
  ge: 'gte',
  le: 'lte',
  contains: 'has',
  startswith: 'sw',
  endswith: 'ew',
};

/** `eqq.EU` may be meant as `eq.EU`; `www.example.com` is a value. */
function misspeltOperatorNote(column: string, text: string): string | null {
  const [, word] = operatorLike.exec(text) ?? [];
  if (word === undefined) return null;
  const meant = operatorsElsewhere[word] ?? filterOps.find((op) => distanceOf(word, op) === 1);
  return meant === undefined
    ? null
    : `${column}: "${word}." is not an operator, so the value was compared as it is; did you mean "${meant}."?`;
}

/** `not.not.eq.1` is refused, since as a literal it would silently match nothing; `not.not.sure` is a literal. */
function negatesTwice(text: string): boolean {
  let at = 0;
  while (text.startsWith('not.', at)) at += 4;
  return opAt(text, at) !== null;
}

function isKeyword(text: string): text is IsKeyword {
  return isKeywords.some((keyword) => keyword === text);
}

function countTest(tally: Tally, field: string): void {
  if (++tally.tests > conditionsMax) {
    throw new FilterError(field, `a query has at most ${conditionsMax} conditions`, 'too_many');
  }
}

function take(reader: Reader, char: string): boolean {
  if (reader.text[reader.at] !== char) return false;
  reader.at++;
  return true;
}

export function printRowFilter(conditions: readonly Condition[]): string {
  return conditions.map(printParameter).join('&');
}

function printParameter(condition: Condition): string {
  if (condition.kind !== 'test') return `${groupWord(condition)}=${escapeParameter(printParts(condition))}`;
  const comparison = printComparison(condition, (value) => value);
  return isColumnName(condition.column)
    ? `${condition.column}=${escapeParameter(comparison)}`
    : `filter=${escapeParameter(`${condition.column}=${comparison}`)}`;
}

function printParts(group: Group): string {
  const parts = group.parts.map((part) =>
    part.kind === 'test'
      ? `${part.column}.${printComparison(part, quoteItem)}`
      : groupWord(part) + printParts(part),
  );
  return `(${parts.join(',')})`;
}

const groupWord = ({ kind, negated }: Group) => (negated ? `not.${kind}` : kind);

function printComparison({ negated, op, operand }: Test, single: (value: string) => string): string {
  const value = typeof operand === 'string' ? single(operand) : `(${operand.map(quoteItem).join(',')})`;
  return `${negated ? 'not.' : ''}${op}.${value}`;
}

/** Commas and brackets end an item of a list or group, a quote starts a quoted one, and `()` is an empty list. */
function quoteItem(value: string): string {
  return value === '' || /[,()"\\]/.test(value) ? `"${value.replace(/["\\]/g, '\\$&')}"` : value;
}

const escapeParameter = (text: string) => text.replace(/[%&+#]/g, encodeURIComponent);
