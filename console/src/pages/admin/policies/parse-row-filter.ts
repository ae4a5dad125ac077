import { isColumnName } from '@svc/contract/columns.ts';
import { type FilterOp, filterOps, isKeywords } from '@svc/contract/rows.ts';
import { type FilterGroup, type FilterPart, faultOf, newGroup, newTest } from './row-filter.ts';

export type ParsedRowFilter = { root: FilterGroup; fault: null } | { root: null; fault: string };

/** Reads what the row API reads; a text that it would refuse is told apart from one that it would take. */
export function parseRowFilter(text: string): ParsedRowFilter {
  try {
    const parts = text.split('&').filter(Boolean).map(readPair);
    const [only] = parts;
    const root = parts.length === 1 && only && only.kind !== 'test' ? only : newGroup('and', parts);
    const fault = faultOf(root);
    return fault === null ? { root, fault } : { root: null, fault };
  } catch (error) {
    if (!(error instanceof Malformed)) throw error;
    return { root: null, fault: error.message };
  }
}

class Malformed extends Error {}

const groupWords: Record<string, Pick<FilterGroup, 'kind' | 'negated'>> = {
  and: { kind: 'and', negated: false },
  or: { kind: 'or', negated: false },
  not: { kind: 'and', negated: true },
  'not.and': { kind: 'and', negated: true },
  'not.or': { kind: 'or', negated: true },
};

function readPair(pair: string): FilterPart {
  const equals = pair.indexOf('=');
  if (equals < 1) throw new Malformed(`“${pair}” is no condition: write column=op.value.`);
  const name = decoded(pair.slice(0, equals));
  const value = decoded(pair.slice(equals + 1));
  if (Object.hasOwn(groupWords, name)) {
    const reader: Reader = { text: value, at: 0 };
    const group = readGroup(reader, name);
    if (reader.at < value.length) throw new Malformed(`Something follows the group of “${name}”.`);
    return group;
  }
  if (isColumnName(name)) return readTopTest(name, value);
  const inner = value.indexOf('=');
  if (name !== 'filter' || inner < 1) throw new Malformed(`“${name}” is no column and no group.`);
  return readTopTest(value.slice(0, inner), value.slice(inner + 1));
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw new Malformed(`“${text}” is not percent-encoded text.`);
  }
}

interface Reader {
  readonly text: string;
  at: number;
}

/** The value is verbatim to the end; what begins with no operator is itself the value. */
function readTopTest(column: string, text: string): FilterPart {
  const negated = text.startsWith('not.');
  const op = opAt(text, negated ? 4 : 0);
  if (op === null) {
    const nots = /^(?:not\.){2,}/.exec(text)?.[0].length;
    if (nots !== undefined && opAt(text, nots) !== null)
      throw new Malformed(`“not.” stands once before the operator of “${column}”.`);
    return newTest({ column, values: [text] });
  }
  const reader: Reader = { text, at: (negated ? 4 : 0) + op.length + 1 };
  const values = readOperand(reader, op, () => {
    const rest = text.slice(reader.at);
    reader.at = text.length;
    return rest;
  });
  if (reader.at < text.length) throw new Malformed(`Something follows the list of “${column}”.`);
  return newTest({ column, negated, op, values });
}

function readGroup(reader: Reader, word: string): FilterGroup {
  take(reader, '(', `A group is written ${word}=(a.eq.1,b.gt.2).`);
  const parts: FilterPart[] = [];
  do parts.push(readItem(reader));
  while (taken(reader, ','));
  take(reader, ')', 'A condition in a group is followed by , or ).');
  const { kind, negated } = groupWords[word] ?? { kind: 'and', negated: false };
  return newGroup(kind, parts, negated);
}

function readItem(reader: Reader): FilterPart {
  const { text, at } = reader;
  const word = Object.keys(groupWords).find((one) => text.startsWith(`${one}(`, at));
  if (word !== undefined) {
    reader.at = at + word.length;
    return readGroup(reader, word);
  }
  const dot = text.indexOf('.', at);
  const column = text.slice(at, Math.max(dot, at));
  if (column === '' || /[,()"]/.test(column))
    throw new Malformed('A condition in a group is written column.op.value.');
  const negated = text.startsWith('not.', dot + 1);
  const opStart = dot + (negated ? 5 : 1);
  const op = opAt(text, opStart);
  if (op === null) throw new Malformed(`An operator must follow “${column}”: ${filterOps.join(' ')}.`);
  reader.at = opStart + op.length + 1;
  return newTest({ column, negated, op, values: readOperand(reader, op, () => readValue(reader)) });
}

function readOperand(reader: Reader, op: FilterOp, readSingle: () => string): string[] {
  if (op !== 'in' && op !== 'between') {
    const value = readSingle();
    if (op === 'is' && !isKeywords.some((word) => word === value))
      throw new Malformed(`“is” takes one of ${isKeywords.join(', ')}.`);
    return [value];
  }
  take(reader, '(', 'A list is written (a,b,"c,d").');
  const values: string[] = [];
  if (taken(reader, ')')) return values;
  do values.push(readValue(reader));
  while (taken(reader, ','));
  take(reader, ')', 'A value in a list is followed by , or ).');
  if (op === 'between' && values.length !== 2) throw new Malformed('“between” takes two values.');
  return values;
}

/** Up to the next `,` or `)` that closes nothing of the value's own, or between quotes. */
function readValue(reader: Reader): string {
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
  const match = /"((?:[^"\\]|\\["\\])*)"/y;
  match.lastIndex = reader.at;
  const found = match.exec(reader.text);
  if (!found)
    throw new Malformed('A quoted value does not end, or a \\ stands before something else than " or \\.');
  reader.at = match.lastIndex;
  return (found[1] ?? '').replace(/\\(["\\])/g, '$1');
}

function opAt(text: string, at: number): FilterOp | null {
  return filterOps.find((op) => text.startsWith(`${op}.`, at)) ?? null;
}

function taken(reader: Reader, char: string): boolean {
  if (reader.text[reader.at] !== char) return false;
  reader.at++;
  return true;
}

function take(reader: Reader, char: string, otherwise: string): void {
  if (!taken(reader, char)) throw new Malformed(otherwise);
}
