import { isDeepStrictEqual } from 'node:util';
import { isObject } from '@svc/contract/json.ts';
import { invalidValueError, ScimError } from './errors.ts';
import { valueParts } from './filter.ts';
import { attributeOf, type Json, matches, type Operation, parseBoolean } from './patch.ts';

export const enterpriseSchema = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User';

/** Attributes of RFC 7643 §4.1 and §4.3 that the platform stores for the directory and does not use itself. */
export const otherTexts = [
  'nickName',
  'profileUrl',
  'title',
  'userType',
  'preferredLanguage',
  'locale',
  'timezone',
] as const;
export const otherLists = [
  'addresses',
  'phoneNumbers',
  'ims',
  'photos',
  'entitlements',
  'roles',
  'x509Certificates',
] as const;
export const enterpriseTexts = [
  'employeeNumber',
  'costCenter',
  'organization',
  'division',
  'department',
] as const;
export const managerParts = ['value', '$ref', 'displayName'] as const;

interface Other {
  names: readonly string[];
  kind: 'text' | 'list' | 'manager';
}

const others = new Map<string, Other>([
  ...otherTexts.map((name): [string, Other] => [name.toLowerCase(), { names: [name], kind: 'text' }]),
  ...otherLists.map((name): [string, Other] => [name.toLowerCase(), { names: [name], kind: 'list' }]),
  ...[...enterpriseTexts, 'manager'].map((name): [string, Other] => [
    `${enterpriseSchema}:${name}`.toLowerCase(),
    { names: [enterpriseSchema, name], kind: name === 'manager' ? 'manager' : 'text' },
  ]),
]);

/** Entra leaves out the schema: `manager`. No attribute of the core schema has the name of one of the extension. */
const findOther = (path: string) =>
  others.get(path) ?? others.get(`${enterpriseSchema}:${path}`.toLowerCase());

const textCharsMax = 8_000;
const valuesMax = 50;
const charsMax = 32_000;

export function parseOthers(body: Json): Json {
  const result = [...others.values()].reduce((all, other) => {
    const input = other.names.reduce<unknown>(
      (value, name) => (isObject(value) ? attributeOf(value, name) : undefined),
      body,
    );
    return setOther(all, other, input);
  }, {});
  return withinLimit(result);
}

/** Unknown attributes are ignored: directories send more than is configured. */
export function patchOthers(all: Json, operation: Operation): Json {
  const { op, path, value } = operation;
  if (path.attribute === enterpriseSchema.toLowerCase())
    return op === 'remove' || !isObject(value)
      ? without(all, enterpriseSchema)
      : Object.entries(value).reduce((rest, [name, each]) => {
          const part = { attribute: `${path.attribute}:${name.toLowerCase()}`, filter: null, part: null };
          return patchOthers(rest, { op, path: part, value: each });
        }, all);
  const other = findOther(path.attribute);
  if (!other) return all;
  const before = other.names.reduce<unknown>(
    (found, name) => (isObject(found) ? found[name] : undefined),
    all,
  );
  return withinLimit(setOther(all, other, patchedValue(before, other, operation)));
}

function patchedValue(before: unknown, { kind }: Other, operation: Operation): unknown {
  const { op, path, value } = operation;
  if (kind === 'list')
    return patchList(Array.isArray(before) ? (before as Json[]) : [], operation, parseValues);
  if (kind === 'manager' && path.part !== null)
    return withParts(isObject(before) ? before : {}, { [path.part]: op === 'remove' ? null : value });
  return op === 'remove' ? null : value;
}

function setOther(all: Json, { names, kind }: Other, input: unknown): Json {
  const [first = '', second] = names;
  const value = parseOther(input, names.at(-1) ?? '', kind);
  if (second === undefined) return value === null ? without(all, first) : { ...all, [first]: value };
  const inner = isObject(all[first]) ? all[first] : {};
  const changed = value === null ? without(inner, second) : { ...inner, [second]: value };
  return Object.keys(changed).length === 0 ? without(all, first) : { ...all, [first]: changed };
}

const without = (object: Json, name: string) =>
  Object.fromEntries(Object.entries(object).filter(([each]) => each !== name));

function parseOther(value: unknown, name: string, kind: Other['kind']): unknown {
  if (value === undefined || value === null || value === '') return null;
  if (kind === 'text') return parseLongText(value, name);
  const values = Array.isArray(value) ? value : [value];
  if (kind === 'list') {
    if (values.length > valuesMax) throw invalidValueError(`${name} must have at most ${valuesMax} values.`);
    const parsed = parseValues(values);
    return parsed.length === 0 ? null : parsed;
  }
  return parseParts(values[0], name, managerParts);
}

const parseValues = (values: unknown[]): Json[] =>
  values.flatMap((value): Json[] => {
    const parsed = parseParts(value, 'value', valueParts);
    return parsed === null ? [] : [parsed];
  });

/** Null where none of the parts has a value. Some directories send a text in place of an object. */
function parseParts(input: unknown, name: string, parts: readonly string[]): Json | null {
  const object = isObject(input) ? input : { value: input };
  const entries = parts.flatMap((part): [string, unknown][] => {
    const value = attributeOf(object, part);
    if (value === undefined || value === null || value === '') return [];
    return [[part, part === 'primary' ? parseBoolean(value, part) : parseLongText(value, `${name}.${part}`)]];
  });
  return entries.some(([part]) => part !== 'primary') ? Object.fromEntries(entries) : null;
}

function parseLongText(value: unknown, name: string): string {
  if (typeof value !== 'string') throw invalidValueError(`${name} must be a text.`);
  // An address has lines.
  if (value.length > textCharsMax || !value.isWellFormed() || /[^\P{Cc}\n\r\t]/u.test(value))
    throw invalidValueError(`${name} must have at most ${textCharsMax} printable characters.`);
  return value;
}

function withinLimit(all: Json): Json {
  if (JSON.stringify(all).length > charsMax)
    throw invalidValueError(`The attributes have more than ${charsMax} characters.`);
  return all;
}

/** RFC 7644 §3.5.2, for an attribute with several values. */
export function patchList<T extends object>(
  list: readonly T[],
  { op, path: { filter, part }, value }: Operation,
  parse: (values: unknown[]) => T[],
): T[] {
  if (filter === null && part === null) {
    if (op === 'remove') return [];
    const input = parse(Array.isArray(value) ? value : [value]);
    if (op === 'replace') return input;
    const updated = list.map((each) => input.find((added) => isSameValue(added, each)) ?? each);
    const added = input.filter((each) => !list.some((present) => isSameValue(each, present)));
    return onePrimary([...updated, ...added], input);
  }
  const isMatch = (each: T) => filter === null || matches(each, filter);
  if (op === 'remove' && part === null) return list.filter((each) => !isMatch(each));
  const change: Json =
    part === null ? (isObject(value) ? value : {}) : { [part]: op === 'remove' ? null : value };
  if (list.some(isMatch)) {
    const changed: T[] = [];
    const all = list.flatMap((each) => {
      if (!isMatch(each)) return each;
      // Without a part, the whole value is replaced.
      const parsed = parse([op === 'replace' && part === null ? change : withParts(each, change)]);
      changed.push(...parsed);
      return parsed;
    });
    return onePrimary(all, changed);
  }
  if (op === 'remove') return [...list];
  if (op === 'replace' && filter !== null)
    throw new ScimError(400, 'noTarget', 'No value matches the filter of the path.');
  // A value that does not exist yet is created with the values of the filter.
  const preset = filter?.kind === 'compare' && filter.op === 'eq' ? { [filter.path]: filter.value } : {};
  const created = parse([{ ...preset, ...change }]);
  return onePrimary([...list, ...created], created);
}

/** Names of attributes are not case-sensitive. */
function withParts(object: object, change: Json): Json {
  const names = Object.keys(change).map((name) => name.toLowerCase());
  const rest = Object.entries(object).filter(([name]) => !names.includes(name.toLowerCase()));
  return { ...Object.fromEntries(rest), ...change };
}

function isSameValue(one: object, other: object): boolean {
  const [a, b] = [one as Json, other as Json];
  return a.value === undefined ? isDeepStrictEqual(a, b) : a.value === b.value;
}

const isPrimary = (value: object) => 'primary' in value && value.primary === true;

/** A new primary value takes the place of the earlier one. */
const onePrimary = <T extends object>(all: T[], input: readonly T[]): T[] =>
  input.some(isPrimary)
    ? all.map((each) => (isPrimary(each) && !input.includes(each) ? { ...each, primary: false } : each))
    : all;
