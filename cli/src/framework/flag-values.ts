import { suggest } from '@svc/contract/suggest.ts';
import type { Flag } from './declaration.ts';
import { usageError } from './errors.ts';
import { joinOr } from './text.ts';

export type FlagScalar = string | number | boolean;

export function parseFlagValue(name: string, flag: Flag, text: string): FlagScalar[] {
  switch (flag.type) {
    case 'string':
      return [text];
    case 'boolean':
      return [parseBoolean(name, text)];
    case 'integer':
      return [parseInteger(name, flag, text)];
    case 'duration':
      return [parseBoundedDuration(name, flag, text)];
    case 'time':
      return [parseTime(name, text)];
    case 'enum':
      return [parseChoice(name, flag.values, text)];
    case 'list':
      return parseList(name, flag.values, text);
  }
}

function parseBoolean(name: string, text: string): boolean {
  if (text === 'true') return true;
  if (text === 'false') return false;
  throw usageError(`${name} takes true or false, not ${quoteValue(text)}.`);
}

function parseInteger(name: string, flag: { min?: number; max?: number }, text: string): number {
  const value = Number(text);
  if (!/^[+-]?\d+$/.test(text) || !Number.isSafeInteger(value)) {
    throw usageError(`${name} takes a whole number, not ${quoteValue(text)}.`);
  }
  if (value < (flag.min ?? -Infinity) || value > (flag.max ?? Infinity)) {
    throw usageError(`${name} takes a number ${rangeText(flag.min, flag.max)}, not ${text}.`);
  }
  return value;
}

function parseBoundedDuration(name: string, flag: { min?: string; max?: string }, text: string): number {
  const value = parseDuration(text);
  if (value === null) {
    const unit = /^\d+$/.test(text) ? ` Add a unit: ${text}s.` : '';
    throw usageError(
      `${name} takes a duration such as 500ms, 6s, 10m or 1h, not ${quoteValue(text)}.${unit}`,
    );
  }
  const min = flag.min === undefined ? 0 : (parseDuration(flag.min) ?? 0);
  const max = flag.max === undefined ? Infinity : (parseDuration(flag.max) ?? Infinity);
  if (value < min || value > max) {
    throw usageError(
      `${name} takes a duration ${rangeText(flag.min, flag.max)}, not ${formatDuration(value)}.`,
    );
  }
  return value;
}

/** RFC 3339 with an offset, because the local time zone is ambiguous. */
function parseTime(name: string, text: string): string {
  const form =
    /^(\d{4}-\d{2}-(\d{2}))[Tt](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:[Zz]|[+-]\d{2}:\d{2})$/;
  const [, date, day] = form.exec(text) ?? [];
  // A day that the month does not have rolls over into the next month.
  if (date === undefined || new Date(`${date}T00:00:00Z`).getUTCDate() !== Number(day)) {
    throw usageError(`${name} takes a time such as 2027-01-31T12:00:00Z, not ${quoteValue(text)}.`);
  }
  return text;
}

function parseChoice(name: string, values: readonly string[], text: string): string {
  if (values.includes(text)) return text;
  const near = suggest(text, values);
  const hint = near === null ? '' : ` Did you mean ${near}?`;
  throw usageError(`${name} takes ${joinOr(values)}, not ${quoteValue(text)}.${hint}`);
}

/** An empty text is the empty list, which clears a list; an empty entry is a mistake. */
function parseList(name: string, values: readonly string[] | undefined, text: string): string[] {
  if (text.trim() === '') return [];
  const entries = splitList(text);
  if (entries.includes('')) throw usageError(`${name} has an empty entry in ${quoteValue(text)}.`);
  return values === undefined ? entries : entries.map((entry) => parseChoice(name, values, entry));
}

/** `"Europe, all",amount:decimal(12,2)` has two entries; a quote within quotes is doubled, as in CSV. */
function splitList(text: string): string[] {
  const entry = /\s*(?:"((?:[^"]|"")*)"\s*(?=,|$)|((?:[^,]|,(?=[^(]*\)))*))(,|$)/gy;
  const entries: string[] = [];
  for (let end = ','; end === ','; ) {
    const [, quoted, plain = '', separator = ''] = entry.exec(text) ?? [];
    entries.push(quoted?.replaceAll('""', '"') ?? plain.trim());
    end = separator;
  }
  return entries;
}

function rangeText(min: number | string | undefined, max: number | string | undefined): string {
  if (min !== undefined && max !== undefined) return `from ${min} to ${max}`;
  return min !== undefined ? `of at least ${min}` : `of at most ${max}`;
}

function quoteValue(text: string): string {
  return text === '' ? 'an empty value' : JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}...` : text);
}

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Longer than a timer allows (24.8 days), because some durations are for dates. */
const durationMsMax = 100 * 365 * 86_400_000;

export function parseDuration(text: string): number | null {
  if (!/^(?:\d{1,12}(?:\.\d{1,6})?(?:ms|s|m|h|d))+$/.test(text)) return null;
  let total = 0;
  let largest = Number.POSITIVE_INFINITY;
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)) {
    const ms = unitMs[unit ?? ''] ?? 0;
    // `1s1h` is more likely a mistake than intended.
    if (ms >= largest) return null;
    largest = ms;
    total += Number(amount) * ms;
  }
  return total <= durationMsMax ? Math.round(total) : null;
}

export function formatDuration(totalMs: number): string {
  if (totalMs === 0) return '0s';
  let left = totalMs;
  let text = '';
  for (const unit of ['d', 'h', 'm', 's', 'ms']) {
    const ms = unitMs[unit] ?? 1;
    const count = Math.floor(left / ms);
    if (count > 0) text += `${count}${unit}`;
    left -= count * ms;
  }
  return text;
}
