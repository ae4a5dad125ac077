import { isObject } from '@svc/contract/json.ts';
import { ScimError } from './errors.ts';
import { type Filter, normalizePath, parseFilter } from './filter.ts';

export type Json = Record<string, unknown>;

/** `emails[type eq "work"].value`: attribute, filter of its values, part of each value. Names are in lower case. */
interface PatchPath {
  attribute: string;
  filter: Filter | null;
  part: string | null;
}

export interface Operation {
  op: 'add' | 'replace' | 'remove';
  path: PatchPath;
  value: unknown;
}

const operationsMax = 1_000;
/** Okta repeats them in a value without a path. */
const readOnly = ['id', 'meta', 'groups', 'schemas'];

/** RFC 7644 §3.5.2, and as directories send it: operations in capitals, values without a path, paths as keys. */
export function parsePatch(body: unknown): Operation[] {
  // The example of RFC 7644 §3.7.3 has a list alone.
  const operations = isObject(body) ? attributeOf(body, 'operations') : body;
  if (!Array.isArray(operations) || operations.length === 0 || operations.length > operationsMax)
    throw new ScimError(
      400,
      'invalidSyntax',
      `Operations must be a list of 1 to ${operationsMax} operations.`,
    );
  return operations.flatMap(parseOperation);
}

function parseOperation(operation: unknown): Operation[] {
  if (!isObject(operation)) throw new ScimError(400, 'invalidSyntax', 'An operation must be an object.');
  const name = String(attributeOf(operation, 'op')).toLowerCase();
  const op = (['add', 'replace', 'remove'] as const).find((each) => each === name);
  if (!op) throw new ScimError(400, 'invalidSyntax', 'op must be add, replace or remove.');
  const path = attributeOf(operation, 'path');
  const value = attributeOf(operation, 'value');
  if (path !== undefined && path !== null && path !== '') {
    if (op !== 'remove' && value === undefined)
      throw new ScimError(400, 'invalidValue', 'add and replace need a value.');
    return [{ op, path: parsePath(String(path)), value }];
  }
  if (op === 'remove') throw new ScimError(400, 'noTarget', 'remove needs a path.');
  if (!isObject(value)) throw new ScimError(400, 'invalidValue', 'Without a path, value must be an object.');
  return Object.entries(value)
    .filter(([key]) => !readOnly.includes(key.toLowerCase()))
    .map(([key, each]) => ({ op, path: parsePath(key), value: each }));
}

export function parsePath(text: string): PatchPath {
  const [, name = '', inner, part] = /^([^[\]]+?)(?:\[(.*)\](?:\.(\w+))?)?$/s.exec(text.trim()) ?? [];
  if (name === '') throw new ScimError(400, 'invalidPath', 'The path is not well-formed.');
  if (inner !== undefined)
    return { attribute: normalizePath(name), filter: parseFilter(inner), part: part?.toLowerCase() ?? null };
  const path = normalizePath(name);
  // The URN of an extension has dots of its own.
  const start = path.lastIndexOf(':') + 1;
  const [attribute = '', sub] = path.slice(start).split('.');
  return { attribute: path.slice(0, start) + attribute, filter: null, part: sub ?? null };
}

/** Whether a value of a multi-valued attribute, such as an e-mail address, matches the filter of a path. */
export function matches(value: unknown, filter: Filter): boolean {
  if (filter.kind === 'not') return !matches(value, filter.part);
  if (filter.kind === 'values') return false;
  if (filter.kind !== 'compare') {
    const isMatch = (part: Filter) => matches(value, part);
    return filter.kind === 'and' ? filter.parts.every(isMatch) : filter.parts.some(isMatch);
  }
  const found = isObject(value) ? attributeOf(value, filter.path) : undefined;
  const [left, right] = [String(found ?? '').toLowerCase(), String(filter.value ?? '').toLowerCase()];
  switch (filter.op) {
    case 'pr':
      return found !== undefined && found !== null;
    case 'eq':
      return left === right;
    case 'ne':
      return left !== right;
    case 'co':
      return left.includes(right);
    case 'sw':
      return left.startsWith(right);
    case 'ew':
      return left.endsWith(right);
    case 'gt':
      return left > right;
    case 'ge':
      return left >= right;
    case 'lt':
      return left < right;
    case 'le':
      return left <= right;
  }
}

export function attributeOf(object: Json, name: string): unknown {
  const key = Object.keys(object).find((each) => each.toLowerCase() === name.toLowerCase());
  return key === undefined ? undefined : object[key];
}

/** Some directories send booleans as text. */
export function parseBoolean(value: unknown, attribute: string): boolean {
  if (typeof value === 'boolean') return value;
  if (typeof value === 'string' && /^(true|false)$/i.test(value)) return value.toLowerCase() === 'true';
  throw new ScimError(400, 'invalidValue', `${attribute} must be true or false.`);
}
