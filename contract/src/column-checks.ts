import { countItems } from './column-values.ts';
import { type ColumnType, describeColumnType, isArrayType } from './columns.ts';
import { compilePattern, type Pattern } from './patterns.ts';
import { rowBytesMax } from './rows.ts';

/** Conditions that a value must meet; null always does. `min` and `max` are texts, as they are stored. */
export interface ColumnChecks {
  min?: string;
  max?: string;
  /** Characters of a text, items of a list. */
  min_length?: number;
  max_length?: number;
  pattern?: string;
}

export type CheckName = keyof ColumnChecks;
export const checkNames = [
  'min',
  'max',
  'min_length',
  'max_length',
  'pattern',
] as const satisfies CheckName[];

export function checksOf(type: ColumnType): readonly CheckName[] {
  const { compare } = describeColumnType(type);
  if (compare) return ['min', 'max'];
  if (type === 'text') return ['min_length', 'max_length', 'pattern'];
  return isArrayType(type) ? ['min_length', 'max_length'] : [];
}

export type ChecksInput = {
  [Name in CheckName]?: string | number | null | undefined;
};

/** Checks in the form in which they are stored, or what is wrong with them. Null removes one. */
export function parseChecks(
  type: ColumnType,
  input: ChecksInput,
): { ok: true; checks: ColumnChecks } | { ok: false; check: CheckName; detail: string } {
  const checks: ColumnChecks = {};
  const { parse, compare } = describeColumnType(type);
  const allowed = checksOf(type);
  for (const check of checkNames) {
    const value = input[check];
    if (value === undefined || value === null) continue;
    const wrong = (detail: string) => ({ ok: false, check, detail }) as const;
    if (!allowed.includes(check)) return wrong(`does not apply to a column of type ${type}`);
    if (check === 'pattern') {
      const compiled = compilePattern(String(value));
      if (!compiled.ok) return wrong(compiled.detail);
      checks.pattern = String(value);
    } else if (check === 'min' || check === 'max') {
      const isExact = typeof value === 'string' || Math.abs(value) <= Number.MAX_SAFE_INTEGER;
      const parsed = isExact ? parse(String(value)) : null;
      if (!parsed) return wrong('is a number whose digits may be lost in JSON; write it as a string');
      if (!parsed.ok) return wrong(parsed.detail);
      checks[check] = parsed.value;
    } else {
      const length = /^[0-9]{1,7}$/.test(String(value)) ? Number(value) : -1;
      if (length < 0 || length > rowBytesMax) return wrong(`must be a whole number from 0 to ${rowBytesMax}`);
      checks[check] = length;
    }
  }
  const { min, max, min_length: shortest = 0, max_length: longest = rowBytesMax } = checks;
  if (min !== undefined && max !== undefined && compare && compare(min, max) > 0)
    return { ok: false, check: 'max', detail: 'must not be less than min' };
  if (shortest > longest)
    return { ok: false, check: 'max_length', detail: 'must not be less than min_length' };
  return { ok: true, checks };
}

export interface BrokenCheck {
  check: CheckName;
  /** Continues the name of the column. */
  detail: string;
}

/** `value` as its type parses it. */
export function brokenCheck(type: ColumnType, checks: ColumnChecks, value: string): BrokenCheck | null {
  const { compare = () => 0 } = describeColumnType(type);
  const { min, max, min_length: shortest, max_length: longest, pattern } = checks;
  const broken = (check: CheckName) => ({ check, detail: checkText(type, checks, check) });
  if (min !== undefined && compare(value, min) < 0) return broken('min');
  if (max !== undefined && compare(value, max) > 0) return broken('max');
  if (shortest !== undefined || longest !== undefined) {
    const length = isArrayType(type) ? countItems(value) : countChars(value);
    if (shortest !== undefined && length < shortest) return broken('min_length');
    if (longest !== undefined && length > longest) return broken('max_length');
  }
  return pattern !== undefined && !patternOf(pattern).test(value) ? broken('pattern') : null;
}

export function checkText(type: ColumnType, checks: ColumnChecks, check: CheckName): string {
  const unit = isArrayType(type) ? 'items' : 'characters';
  const value = checks[check];
  switch (check) {
    case 'min':
      return `must be at least ${value} (check min)`;
    case 'max':
      return `must be at most ${value} (check max)`;
    case 'min_length':
      return `must have at least ${value} ${unit} (check min_length)`;
    case 'max_length':
      return `must have at most ${value} ${unit} (check max_length)`;
    case 'pattern':
      return `must match ${value} (check pattern)`;
  }
}

function countChars(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code < 0xdc00 || code > 0xdfff) count++;
  }
  return count;
}

const patterns = new Map<string, Pattern>();
const patternsMax = 500;

/** `source` must be a valid pattern. */
export function patternOf(source: string): Pattern {
  let pattern = patterns.get(source);
  if (!pattern) {
    const compiled = compilePattern(source);
    if (!compiled.ok) throw new Error(`The pattern ${compiled.detail}.`);
    if (patterns.size >= patternsMax) patterns.clear();
    patterns.set(source, compiled.pattern);
    pattern = compiled.pattern;
  }
  return pattern;
}
