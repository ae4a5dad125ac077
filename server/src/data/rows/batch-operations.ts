import { jsonItems, jsonMembers, objectText } from '@svc/contract/json.ts';
import { type BatchOp, batchOperationsMax, batchOps } from '@svc/contract/rows.ts';
import { fail, validationError } from '../../core/problem.ts';

/** One change of a batch. Values stay JSON text, so that numbers keep all digits. */
export interface Operation {
  op: BatchOp;
  table: string;
  as: string | null;
  id: string | Reference | null;
  ifMatch: string | null;
  onConflict: string | null;
  resolution: 'merge' | 'ignore';
  values: string;
}

export class Reference {
  constructor(
    readonly alias: string,
    readonly column: string,
  ) {}

  toString(): string {
    return `$ref ${this.alias}.${this.column}`;
  }
}

export function parseOperations(text: string): Operation[] {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (cause) {
    throw fail('malformed_json', {}, { cause });
  }
  const { operations, ...others } = isObject(body) ? body : {};
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw validationError(unknown.slice(0, 63), 'is unknown here', 'unknown');
  if (!Array.isArray(operations) || operations.length === 0 || operations.length > batchOperationsMax)
    throw validationError('operations', `must be a list of 1 to ${batchOperationsMax} operations`);
  const texts = jsonItems(jsonMembers(text).get('operations') ?? '[]');
  const aliases = new Set<string>();
  return texts.map((item, at) => parseOperation(item, at, aliases));
}

const fields: Readonly<Record<BatchOp, readonly string[]>> = {
  insert: ['values', 'as'],
  update: ['id', 'values', 'as', 'if_match'],
  delete: ['id', 'if_match'],
  upsert: ['values', 'as', 'on_conflict', 'resolution'],
};
const requiredFields = ['id', 'values'];
const aliasPattern = /^[A-Za-z][A-Za-z0-9_]{0,62}$/;

function parseOperation(text: string, at: number, aliases: Set<string>): Operation {
  const invalidError = (field: string, detail: string) => operationError(at, field, detail);
  const value: unknown = JSON.parse(text);
  if (!isObject(value)) throw invalidError('operations', 'must be an object');
  const op = batchOps.find((each) => each === value.op);
  if (!op) throw invalidError('op', `must be one of ${batchOps.join(', ')}`);
  const allowed = fields[op];
  for (const name of Object.keys(value))
    if (name !== 'op' && name !== 'table' && !allowed.includes(name))
      throw invalidError(name.slice(0, 63), `is unknown in an operation of kind ${op}`);
  for (const name of requiredFields)
    if (allowed.includes(name) && value[name] === undefined) throw invalidError(name, 'is required');
  const readText = (name: string) => {
    const field = value[name];
    if (field === undefined) return null;
    if (typeof field !== 'string' || field === '') throw invalidError(name, 'must be a text');
    return field;
  };
  const table = readText('table');
  if (table === null) throw invalidError('table', 'is required');
  const as = readText('as');
  if (as !== null && (!aliasPattern.test(as) || aliases.has(as)))
    throw invalidError('as', 'must be a name that no other operation has');
  const { resolution = 'merge' } = value;
  if (resolution !== 'merge' && resolution !== 'ignore')
    throw invalidError('resolution', 'must be merge or ignore');
  const members = jsonMembers(text);
  const operation: Operation = {
    op,
    table,
    as,
    id: value.id === undefined ? null : parseId(value.id, members.get('id') ?? '', invalidError),
    ifMatch: readText('if_match'),
    onConflict: readText('on_conflict'),
    resolution,
    values: members.get('values') ?? '',
  };
  for (const reference of referencesOf(operation))
    if (!aliases.has(reference.alias))
      throw invalidError('$ref', `${reference.alias} is not the name of an earlier operation`);
  if (as !== null) aliases.add(as);
  return operation;
}

function parseId(
  value: unknown,
  text: string,
  invalidError: (field: string, detail: string) => Error,
): string | Reference {
  if (typeof value === 'string' && value !== '') return value;
  if (Number.isInteger(value)) return text;
  const reference = parseReference(text);
  if (!reference) throw invalidError('id', 'must be a text, a whole number or {"$ref":"name.column"}');
  return reference;
}

const referencePattern = /^([A-Za-z][A-Za-z0-9_]{0,62})\.([a-z][a-z0-9_]{0,62})$/;

/** An object whose only member is `$ref`, directly as the value of a column. Others, as of a JSON Schema, are values of `jsonb`. */
function parseReference(text: string): Reference | null {
  if (!text.startsWith('{') || !text.includes('$ref')) return null;
  const { $ref, ...others } = JSON.parse(text) as Record<string, unknown>;
  if (typeof $ref !== 'string' || Object.keys(others).length > 0) return null;
  const [, alias, column] = referencePattern.exec($ref) ?? [];
  return alias === undefined || column === undefined ? null : new Reference(alias, column);
}

function referencesOf({ id, values }: Operation): Reference[] {
  const own = id instanceof Reference ? [id] : [];
  return [...own, ...valueReferences(values).values()];
}

export function valueReferences(values: string): Map<string, Reference> {
  const found = new Map<string, Reference>();
  if (!values.includes('$ref')) return found;
  for (const [column, text] of jsonMembers(values)) {
    const reference = parseReference(text);
    if (reference) found.set(column, reference);
  }
  return found;
}

export function resolveValues(values: string, resolve: (reference: Reference) => string): string {
  const references = valueReferences(values);
  if (references.size === 0) return values;
  return objectText(
    [...jsonMembers(values)].map(([column, text]) => {
      const reference = references.get(column);
      return [column, reference ? resolve(reference) : text] as const;
    }),
  );
}

export function operationError(at: number, field: string, detail: string) {
  return fail('validation_failed', {
    detail: `Operation ${at}: ${field} ${detail}`,
    errors: [{ operation: at, field, code: 'invalidError', detail }],
  });
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
