import { z } from 'zod';
import { OwnAccess } from './access-preview.shapes.ts';
import { perPageDefault, perPageMax } from './limits.ts';
import {
  affectedDefault,
  affectedMax,
  aggregateFunctions,
  batchOperationsMax,
  countCap,
  countModes,
  dateParts,
  groupsPerPageMax,
  historyPerPageMax,
  pageMax,
  sortKeysMax,
} from './rows.ts';
import { searchCharsMax, snippetKey } from './search.ts';
import { empty, ref, text } from './shapes.ts';
import { tableName } from './tables.shapes.ts';

export const Row = z.record(z.string(), z.unknown());

export const RowPage = z.object({
  data: z.array(Row),
  page: z.int(),
  per_page: z.int(),
  has_more: z.boolean(),
  next_cursor: z.string().nullable(),
});

export const Batch = z.object({
  inserted: z.int(),
  updated: z.int().optional(),
  ids: z.array(z.union([z.string(), z.int(), z.null()])),
});

const tableParams = z.object({ tenant: ref, app: ref, table: tableName.or(ref) });
const rowParams = tableParams.extend({
  id: text.min(1).meta({ description: 'The id of the row; one that starts with `_` is written `%5F…`.' }),
});

export const connectorTableParams = z.object({
  tenant: ref,
  connector: ref,
  schema: text.min(1),
  table: text.min(1),
});
export const connectorRowParams = connectorTableParams.extend({
  id: text.min(1).meta({ description: 'The primary key; of several columns `a,b`.' }),
});

const select = text
  .meta({ description: 'Columns to show, `a,b`; `alias:a` shows one under another name.' })
  .optional();
const several = (description: string) => z.array(text).meta({ description }).optional();
const group = 'a.eq.1,and(b.gt.2,c.is.null)';

const filters = {
  filter: several('`column=value` or `column=op.value`, as if it were a parameter of the column.'),
  or: several(`One of these must hold: \`(${group})\`.`),
  and: several(`All of these must hold: \`(${group})\`.`),
  not: several(`Not all of these may hold: \`(${group})\`.`),
  'not.and': several(`Not all of these may hold: \`(${group})\`.`),
  'not.or': several(`None of these may hold: \`(${group})\`.`),
};
const search = {
  search: text
    .max(searchCharsMax)
    .meta({
      description:
        'Words that a row must have in the columns of the search index, `tea pot`; `"tea pot"` as a phrase, `-green` ' +
        'without the word, `or` between alternatives. Without `sort` the best matches come first, and each row has a ' +
        `\`${snippetKey}\`. \`_search\` is the same, for a table that has a column of this name.`,
    })
    .optional(),
};
const distinct =
  'Only the first row, in the order of `sort`, of each combination of values of these columns, `a,b`.';

/** Beside these, every column is a parameter of its own name: `age=gt.3`. */
const conditions = {
  select,
  sort: text
    .meta({
      description: `At most ${sortKeysMax} columns, \`-a,b\`: a minus for descending. The id comes last.`,
    })
    .optional(),
  ...filters,
  distinct: text
    .meta({
      description: `${distinct} \`_distinct\` is the same, for a table that has a column of this name.`,
    })
    .optional(),
  ...search,
};
const paging = {
  page: z.int().min(1).max(pageMax).default(1),
  per_page: z.int().min(1).max(perPageMax).default(perPageDefault),
};

export const listRows = {
  params: tableParams,
  query: z.looseObject({
    ...conditions,
    ...paging,
    cursor: text
      .min(1)
      .meta({ description: 'The `next_cursor` of the page before, with the same sort; in place of `page`.' })
      .optional(),
  }),
  answer: RowPage,
};
export const countRows = {
  params: tableParams,
  query: z.looseObject({
    ...conditions,
    ...paging,
    count: z
      .enum(countModes)
      .meta({
        description: `\`capped\` stops at ${countCap}; \`estimated\` asks the statistics beyond that.`,
      })
      .optional(),
  }),
  answer: z.object({ count: z.int(), mode: z.enum(countModes).optional() }),
};
export const getOwnAccess = { params: tableParams, answer: OwnAccess };
export const aggregateRows = {
  params: tableParams,
  query: z.looseObject({
    select: text.min(1).meta({
      description:
        'What to group by and to compute, `status,n:count(),total:amount.sum(),m:created_at.month(Europe/Berlin)`. ' +
        `Functions: ${aggregateFunctions.join(', ')}; start of the period: ${dateParts.join(', ')}.`,
    }),
    sort: text
      .meta({ description: `At most ${sortKeysMax} names of \`select\`. What is grouped by comes last.` })
      .optional(),
    ...filters,
    ...search,
    having: several(
      'Conditions on names of `select`, `n.gt.10`. `_having` is the same, for a table that has a column of this name.',
    ),
    page: paging.page,
    per_page: z.int().min(1).max(groupsPerPageMax).default(groupsPerPageMax),
    cursor: text.min(1).meta({ description: 'The `next_cursor` of the page before.' }).optional(),
  }),
  answer: RowPage,
};
export const followRows = {
  params: tableParams,
  query: z.looseObject({
    select,
    ...filters,
    snapshot: z.boolean().default(false).meta({
      description:
        'Whether the rows are sent first. `_snapshot` is the same, for a table that has a column of this name.',
    }),
  }),
  answer: z.string(),
};
const entryQuery = z.strictObject({
  page: paging.page,
  per_page: z.int().min(1).max(historyPerPageMax).default(perPageDefault),
});
export const RowVersion = z.object({
  version: z.string(),
  action: z.enum(['insert', 'update', 'delete']).meta({ description: 'As far as you see the row.' }),
  at: z.string(),
  by: z.string().nullable().meta({ description: 'The user; null unless you own the app or it was you.' }),
  request_id: z.string().nullable(),
  before: Row.nullable(),
  row: Row.nullable().meta({ description: 'The row after the change; null if you did not see it then.' }),
});
const entries = z.object({
  data: z.array(RowVersion),
  page: z.int(),
  per_page: z.int(),
  has_more: z.boolean(),
});
export const listRowHistory = { params: rowParams, query: entryQuery, answer: entries };
export const listTrash = { params: tableParams, query: entryQuery, answer: entries };
const Restored = z.object({ restored: z.int(), ids: z.array(z.union([z.string(), z.int(), z.null()])) });
export const restoreRow = { params: rowParams, answer: Restored };
export const restoreRows = {
  params: tableParams,
  body: z.strictObject({
    request_id: text.min(1).meta({ description: '`X-Request-Id` of the response to the change.' }),
    by: text
      .min(1)
      .meta({ description: 'Id of the person who made the change, for owners of the app.' })
      .optional(),
  }),
  answer: Restored,
};
export const getRow = { params: rowParams, query: z.strictObject({ select }), answer: Row };
export const insertRows = {
  params: tableParams,
  query: z.strictObject({
    on_conflict: text
      .min(1)
      .meta({
        description:
          'Columns of a unique constraint, `a,b`, by which a row that is there is known; the id when absent.',
      })
      .optional(),
  }),
  body: Row,
  answer: z.union([Row, Batch]),
};
export const updateRow = { params: rowParams, body: Row, answer: Row };
export const deleteRow = { params: rowParams, answer: empty };

const rowIds = z
  .array(z.union([z.string(), z.int(), z.null()]))
  .meta({ description: 'Absent if you may not read ids.' })
  .optional();
const returned = {
  ids: rowIds,
  data: z.array(Row).meta({ description: 'With `Prefer: return=representation`.' }).optional(),
  etags: z.array(z.string()).meta({ description: 'The ETags of `data`.' }).optional(),
};
export const UpdatedRows = z.object({ updated: z.int(), ...returned });
export const DeletedRows = z.object({ deleted: z.int(), ids: rowIds, data: returned.data });

const affected = {
  ...filters,
  max_affected: z.int().min(1).max(affectedMax).default(affectedDefault).meta({
    description:
      'If more rows match, nothing is changed. `_max_affected` is the same, for a table that has a column of this name.',
  }),
};
export const updateRows = {
  params: tableParams,
  query: z.looseObject(affected),
  body: Row,
  answer: UpdatedRows,
};
export const deleteRows = { params: tableParams, query: z.looseObject(affected), answer: DeletedRows };

/** A record, because OpenAPI validators would resolve a property `$ref`. */
const Reference = z
  .record(z.string().regex(/^\$ref$/), z.string())
  .meta({ description: '`{"$ref":"order.id"}`: a value of the row of an earlier operation.' });
const table = tableName.or(ref);
const rowId = z.union([z.string(), z.int(), Reference]);
const alias = z.string().meta({ description: 'The name by which later operations refer to the row.' });
const values = Row.meta({
  description: 'Columns and their values; `{"$ref":"order.id"}` refers to an earlier row.',
});
const ifMatch = z.string().meta({ description: 'The ETag that the row must have.' });
export const BatchOperation = z.discriminatedUnion('op', [
  z.strictObject({ op: z.literal('insert'), table, as: alias.optional(), values }),
  z.strictObject({
    op: z.literal('update'),
    table,
    as: alias.optional(),
    id: rowId,
    if_match: ifMatch.optional(),
    values,
  }),
  z.strictObject({ op: z.literal('delete'), table, id: rowId, if_match: ifMatch.optional() }),
  z.strictObject({
    op: z.literal('upsert'),
    table,
    as: alias.optional(),
    on_conflict: z.string().optional(),
    resolution: z.enum(['merge', 'ignore']).default('merge'),
    values,
  }),
]);
export const BatchResult = z.object({
  op: z.string(),
  status: z.int().meta({ description: 'As of the operation alone: 200, 201 or 204.' }),
  id: z.union([z.string(), z.int()]).optional(),
  etag: z.string().optional(),
  row: Row.meta({ description: 'Absent with `Prefer: return=minimal`.' }).optional(),
});
export const batchRows = {
  params: z.object({ tenant: ref, app: ref }),
  body: z.strictObject({ operations: z.array(BatchOperation).min(1).max(batchOperationsMax) }),
  answer: z.object({ results: z.array(BatchResult) }),
};
