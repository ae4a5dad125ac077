import { type ChecksInput, type ColumnChecks, checkNames, parseChecks } from './column-checks.ts';
import {
  columnFamilies,
  type DeleteAction,
  deleteActions,
  familyType,
  type RefType,
  refTarget,
} from './column-families.ts';
import { type ColumnType, columnTypeForms, describeColumnType, isPlainType, namePattern } from './columns.ts';

export interface ColumnSpec {
  name: string;
  type: ColumnType;
  nullable: boolean;
  default: string | null;
  /** Absent if there are none. */
  checks?: ColumnChecks;
  /** Used for references only. */
  on_delete?: DeleteAction;
}

const specForm = 'name:type[:nullable][:default]';

/** Only the first three `:` separate parts, so that a default may contain any; those in the brackets of a type do not. */
export function parseColumnSpec(text: string): ColumnSpec | string {
  const [name = '', rest] = splitOnce(text);
  if (rest === undefined) return `\`${text}\` has no type: ${specForm}`;
  if (rest === 'ref' || rest.startsWith('ref:')) return parseRefSpec(name, rest);
  const end = typeEnd(rest);
  if (end < 0) return `\`${rest}\` has a ( without its )`;
  const typed = parseTypeText(rest.slice(0, end));
  if (typeof typed === 'string') return typed;
  const third = rest[end] === ':' ? rest.slice(end + 1) : undefined;
  const spec = { name, nullable: false, default: null, ...typed };
  if (third === undefined) return spec;
  if (third === 'nullable') return { ...spec, nullable: true };
  if (third.startsWith('nullable:'))
    return { ...spec, nullable: true, default: third.slice('nullable:'.length) };
  return { ...spec, default: third };
}

const refForm = 'name:ref:table[:nullable][(on_delete=restrict|cascade|set_null)]';

/** `author:ref:authors:nullable(on_delete=set_null)`; the brackets may also stand behind the table. */
function parseRefSpec(name: string, rest: string): ColumnSpec | string {
  const [, table = '', before, nullable, after, more] =
    /^ref:([^:(]*)(\([^)]*\))?(:nullable)?(\([^)]*\))?(.*)$/s.exec(rest) ?? [];
  const list = before ?? after;
  if (more || (before && after)) return `\`${rest}\` is not a reference, which has no default: ${refForm}`;
  if (!namePattern.test(table)) return `a reference needs the name of a table: ${refForm}`;
  const [, value] = /^\(\s*on_delete\s*=\s*([a-z_]+)\s*\)$/.exec(list ?? '(on_delete=restrict)') ?? [];
  const action = deleteActions.find((each) => each === value);
  if (!action)
    return `\`${list}\` must be one of ${deleteActions.map((each) => `(on_delete=${each})`).join(', ')}`;
  const spec: ColumnSpec = {
    name,
    type: `ref:${table}`,
    nullable: nullable !== undefined,
    default: null,
    on_delete: action,
  };
  return deleteActionProblem(spec) ?? spec;
}

export function deleteActionProblem({ type, nullable, on_delete }: Omit<ColumnSpec, 'name'>): string | null {
  if (on_delete === undefined) return null;
  if (refTarget(type) === null) return 'on_delete is for references, such as ref:authors';
  return on_delete === 'set_null' && !nullable ? 'on_delete set_null needs a nullable column' : null;
}

/** Where the type ends, or -1 if its brackets do not. */
function typeEnd(rest: string): number {
  const word = /^[^:(]*/.exec(rest)?.[0].length ?? 0;
  if (rest[word] !== '(') return word;
  const list = /^\((?:"(?:[^"\\]|\\.)*"|[^")])*\)/.exec(rest.slice(word))?.[0];
  if (list === undefined) return -1;
  const end = word + list.length;
  const colon = rest.indexOf(':', end);
  return colon < 0 ? rest.length : colon;
}

/** `int`, `decimal(12,2)`, with checks `int(min=0,max=150)`. */
function parseTypeText(text: string): Pick<ColumnSpec, 'type' | 'checks'> | string {
  const target = refTarget(text);
  if (target !== null)
    return namePattern.test(target)
      ? { type: text as RefType }
      : 'a reference needs the name of a table: ref:<table>';
  const list = /^([a-z0-9]+(?:\[\])?)\((.*)\)$/s.exec(text);
  const word = list?.[1] ?? text;
  const args = list ? splitArgs(list[2] ?? '') : [];
  if (word === 'file') {
    const file = familyType(word, args);
    return typeof file === 'string' ? { type: file } : file.detail;
  }
  const named = args.filter((arg) => argPattern.test(arg));
  const type = plainOrFamily(
    word,
    args.filter((arg) => !named.includes(arg)),
  );
  if (typeof type !== 'string') return type.detail;
  if (named.length === 0) return { type };
  const input: ChecksInput = {};
  for (const arg of named) {
    const [, key = '', value = ''] = argPattern.exec(arg) ?? [];
    const check = checkNames.find((each) => each === key);
    if (!check) return `\`${key}\` is not a check; known: ${checkNames.join(', ')}`;
    const literal = value.startsWith('"') ? unquote(value) : value;
    if (literal === null) return `the value of ${check} is not a text in quotes`;
    input[check] = literal;
  }
  const parsed = parseChecks(type, input);
  return parsed.ok ? { type, checks: parsed.checks } : `${parsed.check} ${parsed.detail}`;
}

const argPattern = /^([a-z_]+)=(.*)$/s;

function plainOrFamily(word: string, args: readonly string[]): ColumnType | { detail: string } {
  if (Object.hasOwn(columnFamilies, word)) return familyType(word, args);
  if (!isPlainType(word))
    return { detail: `\`${word}\` is not a column type; known: ${columnTypeForms.join(', ')}` };
  return args.length === 0 ? word : { detail: `${word} has no arguments, only checks such as min=1` };
}

/** A type as it is stored, or what is wrong with it. */
export function parseColumnType(text: string): ColumnType | { detail: string } {
  const parsed = parseTypeText(text);
  if (typeof parsed === 'string') return { detail: parsed };
  return parsed.checks ? { detail: 'must not have checks; they are a field of their own' } : parsed.type;
}

function splitArgs(text: string): string[] {
  const args = [''];
  for (const token of text.match(/"(?:[^"\\]|\\.)*"|[^",]+|[",]/gs) ?? []) {
    if (token === ',') args.push('');
    else args.push(`${args.pop()}${token}`);
  }
  return args.map((arg) => arg.trim());
}

/** A backslash that is not before a quote or another backslash stands for itself, as in `"^\d+$"`. */
function unquote(text: string): string | null {
  return /^"(?:[^"\\]|\\.)*"$/s.test(text) ? text.slice(1, -1).replace(/\\(["\\])/g, '$1') : null;
}

const quote = (text: string) => `"${text.replace(/["\\]/g, '\\$&')}"`;

/** A default that reads `nullable` is ambiguous in this form. */
export function columnSpecText({
  name,
  type,
  nullable,
  default: text,
  checks,
  on_delete,
}: ColumnSpec): string {
  if (on_delete !== undefined) {
    const action = on_delete === 'restrict' ? '' : `(on_delete=${on_delete})`;
    return `${name}:${type}${nullable ? ':nullable' : ''}${action}`;
  }
  return [
    name,
    typeWithChecks(type, checks),
    ...(nullable ? ['nullable'] : []),
    ...(text === null ? [] : [text]),
  ].join(':');
}

export function typeWithChecks(type: ColumnType, checks: ColumnChecks = {}): string {
  const list = checkNames.flatMap((check) => {
    const value = checks[check];
    if (value === undefined) return [];
    return [`${check}=${check === 'pattern' ? quote(String(value)) : value}`];
  });
  if (list.length === 0) return type;
  return type.endsWith(')') ? `${type.slice(0, -1)},${list.join(',')})` : `${type}(${list.join(',')})`;
}

/** A number that may have lost digits in JSON is refused. */
export function literalText(
  type: ColumnType,
  value: string | number | boolean | null,
): { ok: true; text: string | null } | { ok: false; detail: string } {
  if (value === null || typeof value === 'string') return { ok: true, text: value };
  if (!['number', 'integer', 'decimal', 'boolean'].includes(describeColumnType(type).json))
    return { ok: false, detail: `of a ${type} column must be a string` };
  if (typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER) {
    return { ok: false, detail: 'is a number whose digits may be lost in JSON; write it as a string' };
  }
  return { ok: true, text: String(value) };
}

function splitOnce(text: string): [string, string | undefined] {
  const at = text.indexOf(':');
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
}
