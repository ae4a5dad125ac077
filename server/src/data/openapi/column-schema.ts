import { brokenCheck, checkNames, checkText } from '@svc/contract/column-checks.ts';
import { type ColumnType, describeColumnType, isArrayType } from '@svc/contract/columns.ts';
import type { CatalogueColumn, ColumnDefault, ColumnRole } from '../tables/catalogue.ts';

type Json = Record<string, unknown>;

export function columnSchema(column: CatalogueColumn): Json {
  const { type, nullable, role, default: rule } = column;
  const openapi = withChecks(describeColumnType(type).openapi, column);
  const schema = nullable ? nullableSchema(openapi) : { ...openapi };
  const description = roleDescriptions[role] ?? (rule && defaultDescriptions[rule.kind]);
  if (description) schema.description = description;
  if (column.ref) schema.description = `The id of a row of ${column.ref.table}.`;
  if (type === 'autonumber') schema.description = 'The next number, assigned by the service.';
  if (role === 'created_at' || role === 'updated_at' || type === 'autonumber') schema.readOnly = true;
  return schema;
}

/** Bounds that JSON Schema cannot express, such as those of dates and decimals, are in the description. */
function withChecks(openapi: Readonly<Json>, { type, checks }: CatalogueColumn): Json {
  if (!checks) return { ...openapi };
  const { json } = describeColumnType(type);
  const schema: Json = { ...openapi };
  const isNumber = json === 'number';
  const unit = isArrayType(type) ? 'Items' : 'Length';
  const { min, max, min_length, max_length, pattern } = checks;
  if (isNumber && min !== undefined) schema.minimum = Number(min);
  if (isNumber && max !== undefined) schema.maximum = Number(max);
  if (min_length !== undefined) schema[`min${unit}`] = min_length;
  if (max_length !== undefined) schema[`max${unit}`] = max_length;
  if (pattern !== undefined) schema.pattern = pattern;
  const bounds = checkNames.filter(
    (check) => (check === 'min' || check === 'max') && checks[check] !== undefined,
  );
  if (!isNumber && bounds.length > 0)
    schema.description = `${bounds.map((check) => checkText(type, checks, check)).join('; ')}.`;
  return schema;
}

const roleDescriptions: Partial<Record<ColumnRole, string>> = {
  created_at: 'When the row was inserted. Set by the service.',
  updated_at: 'When the row was last changed. Set by the service.',
  owner: 'The owner of the row: the id of the user who inserts it, set by the service.',
};

const defaultDescriptions: Partial<Record<ColumnDefault['kind'], string>> = {
  now: 'Default: the time of the insert.',
  random_uuid: 'Generated when absent.',
  uuid_v7: 'Generated when absent.',
  sequence: 'The next number when absent.',
};

export function inputColumnSchema(column: CatalogueColumn): Json {
  const schema = columnSchema(column);
  return column.default?.kind === 'literal' ? { ...schema, default: defaultJson(column) } : schema;
}

export function columnExample(column: CatalogueColumn): unknown {
  return column.default?.kind === 'literal' ? defaultJson(column) : checkedExample(column);
}

function checkedExample({ type, checks }: CatalogueColumn): unknown {
  const { example, parse } = describeColumnType(type);
  const value = checks && parse(typeof example === 'string' ? example : JSON.stringify(example));
  const broken = value?.ok ? brokenCheck(type, checks ?? {}, value.value) : null;
  if (!broken || !checks) return example;
  const { min_length: shortest = 0, max_length: longest } = checks;
  switch (broken.check) {
    case 'min':
    case 'max':
      return literalJson(type, checks[broken.check] ?? '');
    case 'min_length':
      return Array.isArray(example)
        ? Array(shortest).fill(example[0])
        : String(example).padEnd(shortest, 'x');
    case 'max_length':
      return Array.isArray(example) ? example.slice(0, longest) : String(example).slice(0, longest);
    case 'pattern':
      return example;
  }
}

export function exampleCondition(column: CatalogueColumn): string {
  const value = columnExample(column);
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
  return `${describeColumnType(column.type).exampleOperator}.${text}`;
}

function nullableSchema(schema: Json): Json {
  const values = Array.isArray(schema.enum) && { enum: [...schema.enum, null] };
  if (typeof schema.type === 'string') return { ...schema, type: [schema.type, 'null'], ...values };
  if (Array.isArray(schema.anyOf)) return { ...schema, anyOf: [...schema.anyOf, { type: 'null' }] };
  return { ...schema };
}

function defaultJson({ type, default: rule }: CatalogueColumn): unknown {
  if (rule?.kind !== 'literal') return undefined;
  const { text, json } = rule;
  return json === undefined ? literalJson(type, text) : JSON.parse(json);
}

function literalJson(type: ColumnType, text: string): unknown {
  switch (describeColumnType(type).json) {
    case 'number':
      return Number(text);
    case 'integer':
      return Number.isSafeInteger(Number(text)) ? Number(text) : text;
    case 'boolean':
      return text === 'true';
    case 'json':
      return JSON.parse(text);
    default:
      return text;
  }
}
