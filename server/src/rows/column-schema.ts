import type { ColumnType } from '@svc/contract/columns.ts';
import type { CatalogueColumn } from '../tables/catalogue.ts';

type Json = Record<string, unknown>;

/** A column's values as JSON Schema, as rows show them and take them. */
export function columnSchema(column: CatalogueColumn): Json {
  const { nullable, type } = column;
  return { ...(nullable ? orNull(schemas[type]) : schemas[type]), ...described(column) };
}

/** The same for what is sent, with what takes its place when it is left out. */
export function sentColumnSchema(column: CatalogueColumn): Json {
  const schema = columnSchema(column);
  return column.default?.kind === 'literal' ? { ...schema, default: defaultJson(column) } : schema;
}

/** A value that the column takes, the same each time. */
export function exampleOf(column: CatalogueColumn): unknown {
  return column.default?.kind === 'literal' ? defaultJson(column) : examples[column.type];
}

/** A condition that holds for the example. */
export function exampleCondition(column: CatalogueColumn): string {
  const value = exampleOf(column);
  switch (column.type) {
    case 'jsonb':
      return `cs.${JSON.stringify(value)}`;
    case 'bool':
      return `is.${value}`;
    case 'int':
    case 'bigint':
    case 'float':
    case 'timestamptz':
      return `gte.${value}`;
    case 'text':
    case 'uuid':
      return `eq.${value}`;
  }
}

const int32 = { minimum: -(2 ** 31), maximum: 2 ** 31 - 1 };
const safe = { minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER };

const schemas: Readonly<Record<ColumnType, Json>> = {
  text: { type: 'string' },
  int: { type: 'integer', format: 'int32', ...int32 },
  bigint: {
    description: 'A number as far as every reader of JSON keeps its digits, beyond that a decimal string.',
    anyOf: [
      { type: 'integer', format: 'int64', ...safe },
      { type: 'string', pattern: '^-?[0-9]{1,19}$' },
    ],
  },
  float: { type: 'number', format: 'double' },
  bool: { type: 'boolean' },
  timestamptz: { type: 'string', format: 'date-time' },
  uuid: { type: 'string', format: 'uuid' },
  jsonb: { description: 'Any JSON.' },
};

const examples: Readonly<Record<ColumnType, unknown>> = {
  text: 'text',
  int: 42,
  bigint: '9007199254740993',
  float: 1.5,
  bool: true,
  timestamptz: '2026-01-31T09:30:00Z',
  uuid: '01890a5d-ac96-774b-bcce-b302099a8057',
  jsonb: { key: 'value' },
};

function orNull(schema: Json): Json {
  if (typeof schema.type === 'string') return { ...schema, type: [schema.type, 'null'] };
  if (Array.isArray(schema.anyOf)) return { ...schema, anyOf: [...schema.anyOf, { type: 'null' }] };
  return schema;
}

function described(column: CatalogueColumn): Json {
  const about = aboutOf(column);
  return {
    ...(about === null ? {} : { description: about }),
    ...(column.role === 'created_at' || column.role === 'updated_at' ? { readOnly: true } : {}),
  };
}

function aboutOf({ role, default: rule }: CatalogueColumn): string | null {
  switch (role) {
    case 'created_at':
      return 'When the row was inserted; kept by the service.';
    case 'updated_at':
      return 'When the row was last changed; kept by the service.';
    case 'owner':
      return 'Whose row it is: a user id, filled in with who inserts it.';
    case 'id':
    case 'plain':
      break;
  }
  switch (rule?.kind) {
    case 'now':
      return 'The time of the insert when absent.';
    case 'random_uuid':
    case 'uuid_v7':
      return 'Made up when absent.';
    case 'sequence':
      return 'The next number when absent.';
    default:
      return null;
  }
}

function defaultJson({ type, default: rule }: CatalogueColumn): unknown {
  if (rule?.kind !== 'literal') return undefined;
  switch (type) {
    case 'int':
    case 'float':
      return Number(rule.text);
    case 'bigint':
      return Number.isSafeInteger(Number(rule.text)) ? Number(rule.text) : rule.text;
    case 'bool':
      return rule.text === 'true';
    case 'jsonb':
      return JSON.parse(rule.text);
    case 'text':
    case 'timestamptz':
    case 'uuid':
      return rule.text;
  }
}
