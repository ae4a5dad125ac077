import { z } from 'zod';
import { appParams } from './apps.shapes.ts';
import { type CheckName, checkNames, parseChecks } from './column-checks.ts';
import { deleteActions, refTarget } from './column-families.ts';
import { deleteActionProblem, literalText, parseColumnSpec, parseColumnType } from './column-spec.ts';
import { columnType, storedType } from './columns.shapes.ts';
import {
  columnDefaultBytesMax,
  columnsPerIndexMax,
  columnsPerTableMax,
  namePattern,
  reservedNames,
  tableDescriptionBytesMax,
  writeParameters,
} from './columns.ts';
import { historyDaysMax } from './rows.ts';
import { searchLanguages, searchWeights } from './search.ts';
import { chars, empty, page, pageQuery, ref, text, timestamp, uuid } from './shapes.ts';
import {
  type Alternative,
  accessPresets,
  alternativesMax,
  parseAlternative,
  ruleActions,
  ruleFilterCharsMax,
} from './table-rules.ts';
import { principalTypes, tableActions } from './tables.ts';

const nameExpected = 'must be 1 to 63 of a-z, 0-9 and _, and begin with a letter';
const name = z.string().regex(namePattern, nameExpected);
const isReserved = { error: ({ input }: { input?: unknown }) => `\`${input}\` is reserved for queries` };
export const tableName = name.refine((value) => !reservedNames.includes(value), isReserved);
export const columnName = name.refine(
  (value) => !reservedNames.includes(value) && !writeParameters.includes(value),
  isReserved,
);

const defaultText = text.refine((value) => Buffer.byteLength(value) <= columnDefaultBytesMax, {
  error: `must be at most ${columnDefaultBytesMax} bytes`,
});
const columnDefault = z
  .union([defaultText, z.number(), z.boolean()])
  .nullable()
  .meta({
    description:
      "A literal of the column's type, `now()` or `gen_random_uuid()`; null for none. A number only up to 2^53−1 in " +
      'size; beyond that its digits as a text.',
  });

const bound = z.union([text.max(200), z.number()]);
const checkFields = {
  min: bound.meta({ description: 'The least value, of numbers, dates and times.' }),
  max: bound.meta({ description: 'The greatest value.' }),
  min_length: z.int().min(0).meta({ description: 'Characters of a text, items of a list.' }),
  max_length: z.int().min(0),
  pattern: text.meta({
    description:
      'A regular expression of ECMAScript without backreferences, lookaround, \\b and lazy quantifiers, found anywhere in ' +
      'the text unless it has ^ and $.',
  }),
} satisfies Record<CheckName, unknown>;
const checksInput = z.strictObject(checkFields).partial();
const changedChecks = z
  .strictObject({
    min: checkFields.min.nullable(),
    max: checkFields.max.nullable(),
    min_length: checkFields.min_length.nullable(),
    max_length: checkFields.max_length.nullable(),
    pattern: checkFields.pattern.nullable(),
  })
  .partial()
  .meta({ description: 'What is absent stays as it is; null removes a check.' });

const onDelete = z.enum(deleteActions).meta({
  description:
    'Of a reference, what happens when the row that it refers to is deleted: `restrict` (the default) refuses that.',
});

export const columnFields = z.strictObject({
  name: columnName,
  type: columnType,
  nullable: z.boolean().default(false),
  default: columnDefault.default(null),
  checks: checksInput.optional(),
  on_delete: onDelete.optional(),
});

export function parsedColumn<C extends z.output<typeof columnFields>>(
  { checks: inputChecks = {}, on_delete, ...column }: C,
  ctx: z.RefinementCtx,
) {
  const type = parseColumnType(column.type);
  if (typeof type !== 'string') return z.NEVER;
  const isRef = refTarget(type) !== null;
  const action = isRef ? (on_delete ?? 'restrict') : on_delete;
  const wrong =
    isRef && column.default !== null
      ? { path: ['default'], message: 'is not possible: a reference has no default' }
      : {
          path: ['on_delete'],
          message: deleteActionProblem({ ...column, type, default: null, on_delete: action }),
        };
  if (wrong.message !== null) {
    ctx.addIssue({ code: 'custom', path: wrong.path, message: wrong.message });
    return z.NEVER;
  }
  const literal = literalText(type, column.default);
  if (!literal.ok) ctx.addIssue({ code: 'custom', path: ['default'], message: literal.detail });
  const parsed = parseChecks(type, inputChecks);
  if (!parsed.ok) ctx.addIssue({ code: 'custom', path: ['checks', parsed.check], message: parsed.detail });
  if (!literal.ok || !parsed.ok) return z.NEVER;
  const hasChecks = checkNames.some((name) => parsed.checks[name] !== undefined);
  return {
    ...column,
    type,
    default: literal.text,
    ...(hasChecks && { checks: parsed.checks }),
    ...(action && { on_delete: action }),
  };
}

export const columnText = text.max(columnDefaultBytesMax + 20_000).transform((spec, ctx) => {
  const parsed = parseColumnSpec(spec);
  const wrong = typeof parsed === 'string' ? parsed : columnName.safeParse(parsed.name).error?.issues[0];
  if (typeof parsed !== 'string' && wrong === undefined) return parsed;
  ctx.addIssue({ code: 'custom', message: typeof wrong === 'string' ? wrong : `name ${wrong?.message}` });
  return z.NEVER;
});
export const columnInput = z.union([columnFields.transform(parsedColumn), columnText]);

export const description = text.refine((value) => Buffer.byteLength(value) <= tableDescriptionBytesMax, {
  error: `must be at most ${tableDescriptionBytesMax} bytes`,
});

export const Column = z.object({
  name: z.string(),
  type: storedType,
  nullable: z.boolean(),
  default: z.string().nullable(),
  checks: z
    .object({ ...checkFields, min: z.string(), max: z.string() })
    .partial()
    .optional()
    .meta({ description: 'Absent if the column has none.' }),
  on_delete: onDelete.optional(),
  value_type: storedType
    .optional()
    .meta({ description: 'For references: the type of the ids of the table.' }),
  /** True for undeclared `created_at` and `updated_at`, and for a generated `id`. */
  generated: z.boolean(),
});

const alternative = z
  .union([
    chars(1, ruleFilterCharsMax),
    z.strictObject({ who: chars(1, 80), where: chars(1, ruleFilterCharsMax) }),
  ])
  .superRefine((value: Alternative, ctx) => {
    try {
      parseAlternative(value);
    } catch (error) {
      ctx.addIssue({ code: 'custom', message: error instanceof Error ? error.message : 'is invalid' });
    }
  })
  .meta({
    description:
      '`any`, `own`, `app`, `none`, `role:<name>`, a filter such as `region=eq.@me.region`, or both: ' +
      '`{"who": "role:manager", "where": "region=eq.@me.region"}`.',
  });
export const alternatives = z.array(alternative).max(alternativesMax);
const columnRules = z.record(
  columnName,
  z.strictObject({ read: alternatives.optional(), write: alternatives.optional() }),
);
const ruleLists = Object.fromEntries(ruleActions.map((action) => [action, alternatives])) as Record<
  (typeof ruleActions)[number],
  typeof alternatives
>;
const preset = z.enum(accessPresets);

export const TableAccess = z.object({
  table: z.string(),
  preset: preset.nullable().meta({ description: 'The preset that these rules are, or null.' }),
  ...ruleLists,
  columns: columnRules,
  open_to_changes: z.boolean().meta({ description: 'Every user of the app can change every row.' }),
});

export const tableRules = z.strictObject({
  preset: preset.optional().meta({ description: 'The rules to start from.' }),
  read: alternatives.optional(),
  insert: alternatives.optional(),
  update: alternatives.optional(),
  delete: alternatives.optional(),
  write: alternatives.optional().meta({ description: 'The same for insert, update and delete.' }),
  columns: columnRules.optional(),
});

const days = z
  .string()
  .regex(/^[1-9]\d{0,3}d$/, 'must be a number of days, such as 30d')
  .refine((text) => Number.parseInt(text, 10) <= historyDaysMax, `must be at most ${historyDaysMax}d`)
  .nullable();
export const history = days.meta({
  description: 'How long earlier states of rows can be read, `30d`; null: not at all.',
});
export const softDelete = days.meta({
  description: 'How long deleted rows can be restored, `30d`; null: not at all.',
});
export const changes = z.boolean().meta({ description: 'Whether the table has a change feed (`_changes`).' });

export const Table = z.object({
  id: uuid,
  app_id: uuid,
  name: z.string(),
  description: z.string(),
  owner_column: z.string().nullable(),
  changes,
  history: z.string().nullable().meta({ description: 'How long earlier states of rows can be read, `30d`.' }),
  soft_delete: z.string().nullable().meta({ description: 'How long deleted rows can be restored, `30d`.' }),
  columns: z.array(Column),
  version: z.int(),
  created_by: z.string(),
  created_at: timestamp,
  updated_at: timestamp,
});

export const ListedTable = Table.extend({
  grants: z.int().meta({ description: 'The number of table grants.' }),
  access: preset.or(z.literal('custom')),
  open_to_changes: z.boolean().meta({ description: 'Every user of the app can change every row.' }),
});

export const Index = z.object({
  id: uuid,
  name: z.string(),
  columns: z.array(z.string()),
  unique: z.boolean(),
  search: z
    .record(z.string(), z.enum(searchWeights))
    .optional()
    .meta({ description: 'Of an index for `search`: its columns with their weights.' }),
  language: z.enum(searchLanguages).optional(),
  created_at: timestamp,
});

export const TableGrant = z.object({
  id: uuid,
  table_id: uuid,
  principal_type: z.enum(principalTypes),
  principal_id: z.string(),
  principal_name: z.string().meta({
    description:
      'The e-mail address of a person, the slug of an app, the name of a group, or the role; empty where they are no more.',
  }),
  actions: z.array(z.enum(tableActions)),
  created_by: z.string(),
  created_at: timestamp,
});

const tableParams = appParams.extend({ table: ref });
const columnParams = tableParams.extend({ column: ref });
const indexName = name.meta({ description: 'Derived from the columns when absent.' });
/** An index of columns, or one for full-text search. */
export const indexInput = z
  .strictObject({
    name: indexName.optional(),
    columns: z.array(columnName).max(columnsPerIndexMax).default([]),
    unique: z.boolean().default(false),
    search: z
      .record(columnName, z.enum(searchWeights))
      .refine((columns) => Object.keys(columns).length > 0, 'must name a column')
      .refine(
        (columns) => Object.keys(columns).length <= columnsPerIndexMax,
        `can have at most ${columnsPerIndexMax} columns`,
      )
      .optional()
      .meta({
        description:
          'In place of `columns`, for the parameter `search`: text columns with their weights, `{"title": "A", "body": "B"}`; ' +
          'A counts most. A table has one such index.',
      }),
    language: z
      .enum(searchLanguages)
      .optional()
      .meta({ description: 'Of the searched texts; `simple` by default.' }),
  })
  .superRefine(({ columns, unique, search, language }, ctx) => {
    const refuse = (path: string, message: string) => ctx.addIssue({ code: 'custom', path: [path], message });
    if (search && columns.length > 0) refuse('columns', 'cannot be combined with search');
    if (search && unique) refuse('unique', 'cannot be combined with search');
    if (!search && columns.length === 0) refuse('columns', 'must name a column');
    if (!search && language) refuse('language', 'is for an index with search');
  });

export const tableAccess = z.union([preset, tableRules]);
export const listTables = {
  params: appParams,
  query: pageQuery,
  answer: page(ListedTable),
};
export const createTable = {
  params: appParams,
  body: z.strictObject({
    name: tableName,
    columns: z.array(columnInput).max(columnsPerTableMax).default([]),
    owner_column: columnName.nullable().default(null),
    description: description.default(''),
    changes: changes.optional(),
    history: history.optional(),
    soft_delete: softDelete.optional(),
    access: tableAccess
      .optional()
      .meta({ description: 'By default `own` with an owner column, otherwise `read-only`.' }),
  }),
  answer: Table,
};
export const getTable = { params: tableParams, answer: Table };
export const updateTable = {
  params: tableParams,
  body: z.strictObject({
    name: tableName.optional(),
    description: description.optional(),
    changes: changes.optional(),
    history: history.optional(),
    soft_delete: softDelete.optional(),
  }),
  answer: Table,
};
export const dropTable = { params: tableParams, answer: empty };

export const addColumn = { params: tableParams, body: columnInput, answer: Table };
export const updateColumn = {
  params: columnParams,
  body: z.strictObject({
    name: columnName.optional(),
    nullable: z.boolean().optional(),
    default: columnDefault.optional(),
    type: columnType
      .optional()
      .meta({ description: 'A type that every value can be converted to without loss.' }),
    checks: changedChecks.optional(),
    on_delete: onDelete.optional(),
  }),
  answer: Table,
};
export const dropColumn = { params: columnParams, answer: empty };

export const listIndexes = { params: tableParams, query: pageQuery, answer: page(Index) };
export const addIndex = {
  params: tableParams,
  body: indexInput,
  answer: Index,
};
export const dropIndex = { params: tableParams.extend({ index: ref }), answer: empty };

export const getTableAccess = { params: tableParams, answer: TableAccess };
export const setTableAccess = { params: tableParams, body: tableRules, answer: TableAccess };

export const listTableGrants = { params: tableParams, query: pageQuery, answer: page(TableGrant) };
export const issueTableGrant = {
  params: tableParams,
  body: z.strictObject({
    principal_type: z.enum(principalTypes),
    principal_id: ref.meta({
      description:
        'A user id or e-mail address, an app id or slug, a group id or name, or the name of a role.',
    }),
    actions: z
      .array(z.enum(tableActions))
      .min(1)
      .transform((actions) => tableActions.filter((action) => actions.includes(action))),
  }),
  answer: TableGrant,
};
export const revokeTableGrant = { params: tableParams.extend({ grantID: ref }), answer: empty };
