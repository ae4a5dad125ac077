import type { Flag } from './command.ts';
import { formatDuration, parseDuration } from './duration.ts';
import { usage } from './errors.ts';

export type FlagScalar = string | number | boolean;

/** The values one piece of text gives: one for most types, several for a list. `name` is for the message. */
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
      return [oneOf(name, flag.values, text)];
    case 'list':
      return parseList(name, flag.values, text);
  }
}

function parseBoolean(name: string, text: string): boolean {
  if (text === 'true') return true;
  if (text === 'false') return false;
  throw usage(`${name} takes true or false, not ${shown(text)}.`);
}

function parseInteger(name: string, flag: { min?: number; max?: number }, text: string): number {
  const value = Number(text);
  if (!/^[+-]?\d+$/.test(text) || !Number.isSafeInteger(value)) {
    throw usage(`${name} takes a whole number, not ${shown(text)}.`);
  }
  if (value < (flag.min ?? -Infinity) || value > (flag.max ?? Infinity)) {
    throw usage(`${name} takes a number ${range(flag.min, flag.max)}, not ${text}.`);
  }
  return value;
}

function parseBoundedDuration(name: string, flag: { min?: string; max?: string }, text: string): number {
  const value = parseDuration(text);
  if (value === null) {
    const unit = /^\d+$/.test(text) ? ` Add a unit: ${text}s.` : '';
    throw usage(`${name} takes a duration such as 500ms, 6s, 10m or 1h, not ${shown(text)}.${unit}`);
  }
  const min = flag.min === undefined ? 0 : (parseDuration(flag.min) ?? 0);
  const max = flag.max === undefined ? Infinity : (parseDuration(flag.max) ?? Infinity);
  if (value < min || value > max) {
    throw usage(`${name} takes a duration ${range(flag.min, flag.max)}, not ${formatDuration(value)}.`);
  }
  return value;
}

/** RFC 3339 with its offset, so that nobody's local time is guessed. */
function parseTime(name: string, text: string): string {
  const form =
    /^(\d{4}-\d{2}-(\d{2}))[Tt](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:[Zz]|[+-]\d{2}:\d{2})$/;
  const [, date, day] = form.exec(text) ?? [];
  // A day that the month does not have rolls over into the next.
  if (date === undefined || new Date(`${date}T00:00:00Z`).getUTCDate() !== Number(day)) {
    throw usage(`${name} takes a time such as 2027-01-31T12:00:00Z, not ${shown(text)}.`);
  }
  return text;
}

function oneOf(name: string, values: readonly string[], text: string): string {
  if (values.includes(text)) return text;
  const lower = values.find((value) => value.toLowerCase() === text.toLowerCase());
  const hint = lower === undefined ? '' : ` Did you mean ${lower}?`;
  throw usage(`${name} takes ${listed(values)}, not ${shown(text)}.${hint}`);
}

/** Empty text is the empty list, so that a list can be cleared; an empty entry is a slip. */
function parseList(name: string, values: readonly string[] | undefined, text: string): string[] {
  if (text.trim() === '') return [];
  const entries = text.split(',').map((entry) => entry.trim());
  if (entries.includes('')) throw usage(`${name} has an empty entry in ${shown(text)}.`);
  return values === undefined ? entries : entries.map((entry) => oneOf(name, values, entry));
}

function range(min: number | string | undefined, max: number | string | undefined): string {
  if (min !== undefined && max !== undefined) return `from ${min} to ${max}`;
  return min !== undefined ? `of at least ${min}` : `of at most ${max}`;
}

export function listed(values: readonly string[]): string {
  return values.length < 2 ? values.join('') : `${values.slice(0, -1).join(', ')} or ${values.at(-1)}`;
}

function shown(text: string): string {
  return text === '' ? 'an empty text' : JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}...` : text);
}
