import { describeColumnType } from '@svc/contract/columns.ts';
import type { CatalogueColumn, ColumnDefault, ColumnRole } from '../tables/catalogue.ts';

type Json = Record<string, unknown>;

export function columnSchema({ type, nullable, role, default: rule }: CatalogueColumn): Json {
  const { openapi } = describeColumnType(type);
  const schema = nullable ? nullableSchema(openapi) : { ...openapi };
  const description = roleDescriptions[role] ?? (rule && defaultDescriptions[rule.kind]);
  if (description) schema.description = description;
  if (role === 'created_at' || role === 'updated_at') schema.readOnly = true;
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
  return column.default?.kind === 'literal' ? defaultJson(column) : describeColumnType(column.type).example;
}

export function exampleCondition(column: CatalogueColumn): string {
  const value = columnExample(column);
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
  return `${describeColumnType(column.type).exampleOperator}.${text}`;
}

function nullableSchema(schema: Json): Json {
  if (typeof schema.type === 'string') return { ...schema, type: [schema.type, 'null'] };
  if (Array.isArray(schema.anyOf)) return { ...schema, anyOf: [...schema.anyOf, { type: 'null' }] };
  return { ...schema };
}

function defaultJson({ type, default: rule }: CatalogueColumn): unknown {
  if (rule?.kind !== 'literal') return undefined;
  const { text } = rule;
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
