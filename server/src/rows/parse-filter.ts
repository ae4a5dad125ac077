import {
  conditionsMax,
  type FilterOp,
  filterOps,
  groupDepthMax,
  type IsKeyword,
  inValuesMax,
  isKeywords,
} from '@svc/contract/rows.ts';
import { type Failure, invalid } from '../plumbing/problem.ts';
import type { Condition, Group, Test } from './query-syntax.ts';

/** How many tests a query has so far. */
export interface Tally {
  tests: number;
}

/** `col=op.value`: the value is verbatim to the end. What does not begin with an operator and a dot is a literal. */
export function parseFilter(column: string, text: string, tally: Tally): Test {
  const negated = text.startsWith('not.');
  const opStart = negated ? 4 : 0;
  const op = opAt(text, opStart);
  if (op === null) {
    if (negated && negatesTwice(text)) throw invalid(column, 'not. stands once before an operator');
    countTest(tally, column);
    return { kind: 'test', column, negated: false, op: 'eq', operand: text };
  }
  const reader: Reader = { text, at: opStart + op.length + 1, field: column, tally };
  const test = readTest(reader, { column, negated, op, readValue: readRest });
  if (reader.at < text.length) throw malformed(reader, 'is followed by something else; quote what holds a )');
  return test;
}

export type GroupParameter = 'and' | 'or' | 'not' | 'not.and' | 'not.or';

/** `or=(a.eq.1,and(b.gt.2,c.is.null))`: `parameter` is the name before the `=`. */
export function parseGroup(parameter: GroupParameter, text: string, tally: Tally): Group {
  const reader: Reader = { text, at: 0, field: parameter, tally };
  const group = readGroup(reader, groupKinds[parameter], 1);
  if (reader.at < text.length) throw malformed(reader, 'is followed by something else');
  return group;
}

/** A `not` alone negates the conjunction of what it holds. */
const groupKinds: Record<GroupParameter, Pick<Group, 'kind' | 'negated'>> = {
  and: { kind: 'and', negated: false },
  or: { kind: 'or', negated: false },
  not: { kind: 'and', negated: true },
  'not.and': { kind: 'and', negated: true },
  'not.or': { kind: 'or', negated: true },
};
const groupParameters: readonly GroupParameter[] = ['and', 'or', 'not', 'not.and', 'not.or'];

export function isGroupParameter(name: string): name is GroupParameter {
  return groupParameters.some((parameter) => parameter === name);
}

/** A place in the text of one parameter. */
interface Reader {
  readonly text: string;
  at: number;
  readonly field: string;
  readonly tally: Tally;
}

function readGroup(reader: Reader, { kind, negated }: Pick<Group, 'kind' | 'negated'>, depth: number): Group {
  if (depth > groupDepthMax) throw malformed(reader, `is nested deeper than ${groupDepthMax}`, 'too_deep');
  if (!take(reader, '(')) throw malformed(reader, 'a group is written (a.eq.1,b.gt.2)');
  const parts: Condition[] = [];
  do parts.push(readPart(reader, depth));
  while (take(reader, ','));
  if (!take(reader, ')')) throw malformed(reader, 'a condition must be followed by , or )');
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
  const dot = reader.text.indexOf('.', reader.at);
  const column = reader.text.slice(reader.at, Math.max(dot, reader.at));
  if (column === '' || /[,()"]/.test(column)) {
    throw malformed(reader, 'a condition in a group is written column.op.value');
  }
  const negated = reader.text.startsWith('not.', dot + 1);
  const opStart = dot + (negated ? 5 : 1);
  const op = opAt(reader.text, opStart);
  if (op === null) throw malformed(reader, `an operator must follow the column: ${filterOps.join(' ')}`);
  reader.at = opStart + op.length + 1;
  return readTest(reader, { column, negated, op, readValue: readItem });
}

interface TestStart {
  column: string;
  negated: boolean;
  op: FilterOp;
  /** To the end of the parameter, or to the end of the item in a group. */
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
        throw malformed(reader, 'between takes two values: between.(1,9)');
      }
      return { kind: 'test', column, negated, op, operand: [low, high] };
    }
    case 'is': {
      const keyword = readValue(reader);
      if (!isKeyword(keyword)) throw malformed(reader, `is takes one of ${isKeywords.join(', ')}`);
      return { kind: 'test', column, negated, op, operand: keyword };
    }
    case 'like':
    case 'ilike':
      return { kind: 'test', column, negated, op, operand: likePattern(reader, readValue(reader)) };
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
  if (!take(reader, '(')) throw malformed(reader, 'a list is written (a,b,"c,d")');
  if (take(reader, ')')) return [];
  const items: string[] = [];
  do {
    if (items.length === inValuesMax) {
      throw malformed(reader, `a list holds at most ${inValuesMax} values`, 'too_many');
    }
    items.push(readItem(reader));
  } while (take(reader, ','));
  if (!take(reader, ')')) throw malformed(reader, 'a value in a list must be followed by , or )');
  return items;
}

/** Up to the next `,` or `)` that closes nothing of the item's own, or between quotes. */
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
      throw malformed(reader, 'in quotes, \\ stands before " or \\ only');
    value += text.slice(from, at);
    from = ++at;
  }
  throw malformed(reader, 'a quoted value does not end');
}

/** `*` serves for `%`, which a URL must escape. The backslash stays: SQL reads it as we do. */
function likePattern(reader: Reader, text: string): string {
  if (!text.includes('*') && !text.includes('\\')) return text;
  let pattern = '';
  for (let at = 0; at < text.length; at++) {
    const char = text.charAt(at);
    if (char !== '\\') {
      pattern += char === '*' ? '%' : char;
      continue;
    }
    if (++at === text.length) throw malformed(reader, 'a pattern must not end in a lone \\');
    pattern += char + text.charAt(at);
  }
  return pattern;
}

const longestOp = Math.max(...filterOps.map((op) => op.length));
const opsByName = new Map<string, FilterOp>(filterOps.map((op) => [op, op]));

function opAt(text: string, at: number): FilterOp | null {
  const dot = text.indexOf('.', at);
  if (dot < 0 || dot - at > longestOp) return null;
  return opsByName.get(text.slice(at, dot)) ?? null;
}

/** `not.not.eq.1` is refused, since as a literal it would quietly match nothing; `not.not.sure` is a literal. */
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
    throw invalid(field, `a query has at most ${conditionsMax} conditions`, 'too_many');
  }
}

function take(reader: Reader, char: string): boolean {
  if (reader.text[reader.at] !== char) return false;
  reader.at++;
  return true;
}

function malformed(reader: Reader, detail: string, code?: string): Failure {
  return invalid(reader.field, detail, code);
}
