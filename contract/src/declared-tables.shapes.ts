import { z } from 'zod';
import { appParams } from './apps.shapes.ts';
import { columnsPerTableMax, indexesPerTableMax, tablesPerAppMax } from './columns.ts';
import { schemaStepKinds } from './declared-tables.ts';
import { text } from './shapes.ts';
import { roleNamePattern, rolesOfRules } from './table-rules.ts';
import {
  Column,
  changes,
  columnFields,
  columnName,
  columnText,
  description,
  history,
  Index,
  indexInput,
  parsedColumn,
  softDelete,
  tableAccess,
  tableName,
} from './tables.shapes.ts';

const declaredColumn = z.union([
  columnFields
    .extend({ was: columnName.optional().meta({ description: 'The name before; renames that column.' }) })
    .transform(({ was, ...column }, ctx) => {
      const parsed = parsedColumn(column, ctx);
      return was === undefined ? parsed : { ...parsed, was };
    }),
  columnText,
]);

const indexText = text.max(1000).transform((spec, ctx): z.output<typeof indexInput> => {
  const [, list = '', unique] = /^(.*?)(:unique)?$/s.exec(spec) ?? [];
  const columns = list.split(',').map((column) => column.trim());
  const parsed = indexInput.safeParse({ columns, unique: unique !== undefined });
  if (parsed.success) return parsed.data;
  ctx.addIssue({ code: 'custom', message: 'must be columns with commas, and `:unique` if they are unique' });
  return z.NEVER;
});

/** A table in svc.yaml. */
export const declaredTable = z.strictObject({
  was: tableName.optional().meta({ description: 'The name before; renames that table.' }),
  description: description.optional().meta({ description: 'What the table is for.' }),
  owner_column: columnName.optional().meta({ description: "The column with each row's owner." }),
  columns: z
    .array(declaredColumn)
    .max(columnsPerTableMax)
    .superRefine(refuseDeclaredAsBefore)
    .optional()
    .meta({ description: '`name:type[:nullable][:default]`, or an object with these, and with `was`.' }),
  changes: changes.optional(),
  history: history.optional(),
  soft_delete: softDelete.optional(),
  indexes: z
    .array(z.union([indexInput, indexText]))
    .max(indexesPerTableMax)
    .refine(
      (indexes) => indexes.filter(({ search }) => search !== undefined).length <= 1,
      'can have one index with search',
    )
    .optional()
    .meta({
      description:
        '`a,b`, `email:unique`, or an object with name, columns and unique; for full-text search, with search and language.',
    }),
  access: tableAccess.optional().meta({
    description: 'A preset or rules. By default `own` with an owner column, otherwise `read-only`.',
  }),
});
export const declaredTables = z
  .record(tableName, declaredTable)
  .refine((all) => Object.keys(all).length <= tablesPerAppMax, `must be at most ${tablesPerAppMax} tables`)
  .superRefine((all, ctx) =>
    refuseDeclaredAsBefore(
      Object.entries(all).map(([name, { was }]) => ({ name, was, path: name })),
      ctx,
    ),
  );

/** What a file still declares cannot become another: the second run would not know which one is meant. */
function refuseDeclaredAsBefore(
  items: readonly { name: string; was?: string | undefined; path?: string }[],
  ctx: z.RefinementCtx,
): void {
  items.forEach(({ was, path }, at) => {
    if (was === undefined) return;
    const isTaken = items.some((each, other) => each.name === was || (each.was === was && other < at));
    const message = `names ${was}, which another one is or was`;
    if (isTaken) ctx.addIssue({ code: 'custom', path: [path ?? at, 'was'], message });
  });
}

export const declaredRoles = z.array(
  z.string().regex(roleNamePattern, 'must be 1 to 63 of a-z, 0-9, _ and -, and begin with a letter'),
);

/** Where roles are declared, a rule with another one is a typing error. */
export function refuseUndeclaredRoles(
  { tables = {}, roles }: { tables?: z.output<typeof declaredTables>; roles?: string[] | undefined },
  refuse: (path: string[], detail: string) => void,
): void {
  if (roles === undefined) return;
  for (const [table, { access }] of Object.entries(tables)) {
    if (access === undefined || typeof access === 'string') continue;
    for (const role of rolesOfRules(access))
      if (!roles.includes(role))
        refuse(['tables', table, 'access'], `names the role ${role}, which roles does not`);
  }
}

const ExportedTable = z.object({
  description: z.string().optional(),
  owner_column: z.string().optional(),
  columns: z.array(z.union([z.string(), Column.omit({ generated: true, value_type: true })])),
  changes: z.boolean().optional(),
  history: z.string().optional(),
  soft_delete: z.string().optional(),
  indexes: z
    .array(Index.omit({ id: true, created_at: true }).partial({ columns: true, unique: true }))
    .optional()
    .meta({ description: 'Without those that references have by themselves.' }),
  access: tableAccess,
});
export const AppSchema = z.object({
  roles: z.array(z.string()).meta({ description: 'The roles that the rules name.' }),
  tables: z.record(z.string(), ExportedTable),
});

export const SchemaStep = z.object({
  kind: z.enum(schemaStepKinds),
  table: z.string(),
  text: z.string().meta({ description: 'The step in words.' }),
  destructive: z.boolean().meta({ description: 'Values of rows are lost.' }),
  access: z
    .string()
    .nullable()
    .meta({ description: 'Of a new table or new rules: a preset, or who may do what, in words.' }),
});

const declaredSchema = z.strictObject({ roles: declaredRoles.optional(), tables: declaredTables });
const refuseRoles = (body: z.output<typeof declaredSchema>, ctx: z.RefinementCtx) =>
  refuseUndeclaredRoles(body, (path, message) => ctx.addIssue({ code: 'custom', path, message }));

export const exportTables = { params: appParams, answer: AppSchema };
export const applyTables = {
  params: appParams,
  body: declaredSchema
    .extend({
      prune: z
        .boolean()
        .default(false)
        .meta({ description: 'Drop tables, columns and indexes that are not declared.' }),
      allow_destructive: z
        .boolean()
        .default(false)
        .meta({ description: 'Allow steps that lose values: drops, and types that not every value fits.' }),
    })
    .superRefine(refuseRoles),
  answer: z.object({
    created: z.array(z.string()).meta({ description: 'The tables that did not exist.' }),
    columns: z.array(z.string()).meta({ description: 'The columns that were added, `table.column`.' }),
    rules: z.array(z.string()).meta({ description: 'The existing tables whose rules were changed.' }),
    changed: z.boolean(),
    steps: z.array(SchemaStep).meta({ description: 'What was done, in this order.' }),
    left: z.array(SchemaStep).meta({ description: 'What is not declared and stays; `prune` would drop it.' }),
  }),
};
export const checkTables = {
  params: appParams,
  body: declaredSchema.superRefine(refuseRoles),
  answer: z.object({
    differs: z.boolean(),
    steps: z
      .array(SchemaStep)
      .meta({ description: 'What would make the tables as declared, drops included.' }),
  }),
};
