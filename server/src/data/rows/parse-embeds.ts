import { type Condition, FilterError, parseCondition, type Tally } from '@svc/contract/filter.ts';
import { embedDepthMax, embedRowsMax, embedsMax } from '@svc/contract/rows.ts';
import { validationError } from '../../core/problem.ts';
import { splitAlias } from './parse-aggregate.ts';
import type { SelectItem } from './parse-query.ts';

/** `comments!author!inner(id,body)` in a select. */
export interface ParsedEmbed {
  name: string;
  hint: string | null;
  isInner: boolean;
  select: SelectItem[];
}

/** `comments.sort=-id`: a parameter of related rows. */
export interface RelatedParameter {
  name: string;
  path: readonly string[];
  last: string;
  value: string;
}

interface Reader {
  text: string;
  at: number;
  embeds: number;
}

const form = 'must have the form a,alias:b,*,author(name),comments!inner(id,body)';
const selectError = (detail = form) => validationError('select', detail);

const parsed = new Map<string, readonly SelectItem[]>();
const parsedMax = 500;
const parsedCharsMax = 1_000;

export function parseEmbeds(text: string): readonly SelectItem[] {
  const known = parsed.get(text);
  if (known) return known;
  const reader: Reader = { text, at: 0, embeds: 0 };
  const items = readList(reader, 0);
  if (reader.at < text.length) throw selectError();
  if (parsed.size >= parsedMax) parsed.clear();
  if (text.length <= parsedCharsMax) parsed.set(text, items);
  return items;
}

function readList(reader: Reader, depth: number): SelectItem[] {
  const items: SelectItem[] = [];
  do items.push(readItem(reader, depth));
  while (reader.text[reader.at] === ',' && ++reader.at);
  requireUniqueKeys(items);
  return items;
}

export function requireUniqueKeys(items: readonly SelectItem[]): void {
  const keys = new Set<string>();
  for (const { alias } of items) {
    if (keys.has(alias)) throw validationError('select', 'has two values with the same key', 'duplicate');
    keys.add(alias);
  }
}

function readItem(reader: Reader, depth: number): SelectItem {
  const end = /[,()]|$/.exec(reader.text.slice(reader.at))?.index ?? 0;
  const { alias, rest } = splitAlias(reader.text.slice(reader.at, reader.at + end).trim());
  reader.at += end;
  if (rest === '') throw selectError();
  if (reader.text[reader.at] !== '(') return { column: rest, alias: alias ?? rest };
  if (depth >= embedDepthMax)
    throw validationError('select', `related rows are nested more than ${embedDepthMax} deep`, 'too_deep');
  if (++reader.embeds > embedsMax)
    throw validationError('select', `has more than ${embedsMax} kinds of related rows`, 'too_many');
  reader.at++;
  const embed = { ...parseHints(rest), select: readEmbedded(reader, depth + 1) };
  return { column: embed.name, alias: alias ?? embed.name, embed };
}

function readEmbedded(reader: Reader, depth: number): SelectItem[] {
  const isEmpty = /^\s*\)/.exec(reader.text.slice(reader.at))?.[0].length;
  if (isEmpty) {
    reader.at += isEmpty;
    return [];
  }
  const items = readList(reader, depth);
  if (reader.text[reader.at] !== ')') throw selectError('has a ( without its )');
  reader.at++;
  reader.at += /^\s*/.exec(reader.text.slice(reader.at))?.[0].length ?? 0;
  return items;
}

function parseHints(text: string): Pick<ParsedEmbed, 'name' | 'hint' | 'isInner'> {
  const [name = '', ...hints] = text.split('!').map((part) => part.trim());
  const isJoin = (hint: string) => hint === 'inner' || hint === 'left';
  const joins = hints.filter(isJoin);
  const columns = hints.filter((hint) => !isJoin(hint));
  if (name === '' || columns.includes('') || joins.length > 1 || columns.length > 1) throw selectError();
  return { name, hint: columns[0] ?? null, isInner: joins[0] === 'inner' };
}

const lastPattern = /^(.+?)\.(not\.and|not\.or|[^.]+)$/s;

export function parseRelatedParameter(name: string, value: string): RelatedParameter | null {
  const [, path = '', last = ''] = lastPattern.exec(name) ?? [];
  const steps = path.split('.');
  // Through embedded rows, and from these to rows that they refer to.
  if (last === '' || steps.includes('') || steps.length > 2 * embedDepthMax) return null;
  return { name, path: steps, last, value };
}

export function parseRelatedCondition(
  { name, path, last, value }: RelatedParameter,
  tally: Tally & { notes: string[] },
): Condition | null {
  const known = tally.notes.length;
  try {
    const condition = parseCondition(last, value, tally);
    // A note names the parameter, since the table of the list may have a column of the same name.
    for (const note of tally.notes.splice(known)) tally.notes.push(`${path.join('.')}.${note}`);
    return condition;
  } catch (error) {
    throw error instanceof FilterError ? validationError(name, error.detail, error.code) : error;
  }
}

export function parseLimit({ name, value }: RelatedParameter): number {
  const limit = /^[1-9][0-9]{0,2}$/.test(value) ? Number(value) : 0;
  if (limit < 1 || limit > embedRowsMax)
    throw validationError(name, `must be a whole number from 1 to ${embedRowsMax}`);
  return limit;
}
