import { isObject, plainValues } from '@svc/contract/json.ts';
import type { Preview } from '@svc/contract/plan.ts';
import { batchBytesMax } from '@svc/contract/rows.ts';
import type { Column, JsonSchema, Result } from '../command.ts';
import type { Ctx } from '../context.ts';
import type { Flags, Positional } from '../framework/declaration.ts';
import { CliError, usageError } from '../framework/errors.ts';
import { appFlag } from '../inputs/common.ts';
import { inputName, readInputText } from '../inputs/files.ts';
import { carryOut } from '../mutation.ts';
import type { QueryPair, RowAnswer, RowCall, RowsClient } from './rows-client.ts';

export const tablePositional = {
  name: 'table',
  summary: 'Table name; with --connector schema/table',
} as const satisfies Positional;
export const idPositional = { name: 'id', summary: 'Id of the row' } as const satisfies Positional;

export const rowsCredential =
  'Uses your login (svc login, or SVC_TOKEN), or the personal access token in SVC_API_KEY, which overrides a stored ' +
  'login. SVC_TOKEN and SVC_API_KEY cannot be combined.';

/** Where the table is: in an app, or behind a connector. */
export const sourceFlags = {
  app: {
    type: 'string',
    placeholder: 'app',
    requiredUnless: ['connector'],
    filled: true,
    manifest: 'app',
    summary: appFlag.app.summary,
  },
  connector: {
    type: 'string',
    placeholder: 'connector',
    winsOver: ['app'],
    summary: 'Connector id or slug; the table is then schema/table',
  },
} as const satisfies Flags;

export const filterFlags = {
  ...sourceFlags,
  filter: {
    type: 'string',
    repeated: true,
    placeholder: 'column=op.value',
    summary: 'Only matching rows, in the syntax of the row API: age=gt.3, name=eq.Rex, or=(a.eq.1,b.is.null)',
  },
} as const satisfies Flags;

export const rowQueryFlags = {
  ...filterFlags,
  select: { type: 'list', placeholder: 'column', summary: 'Only these columns; alias:column renames' },
  sort: { type: 'list', placeholder: 'column', summary: 'Sort order; -column is descending' },
} as const satisfies Flags;

interface QueryFlags {
  filter?: string[] | undefined;
  select?: string[] | undefined;
  sort?: string[] | undefined;
  distinct?: string[] | undefined;
  search?: string | undefined;
}

export const distinctFlag = {
  distinct: {
    type: 'list',
    placeholder: 'column',
    summary: 'Only the first row of each combination of values of these columns',
  },
} as const satisfies Flags;

export const searchFlag = {
  search: {
    type: 'string',
    placeholder: 'words',
    summary: 'Only rows with these words, the best matches first: tea pot, "tea pot", -green, tea or coffee',
  },
} as const satisfies Flags;

export function rowQuery(flags: QueryFlags): QueryPair[] {
  const { filter = [], select = [], sort = [], distinct = [], search } = flags;
  return [
    ...filter.map(filterPair),
    ...(select.length === 0 ? [] : [['select', select.join(',')] as const]),
    ...(sort.length === 0 ? [] : [['sort', sort.join(',')] as const]),
    ...(distinct.length === 0 ? [] : [['_distinct', distinct.join(',')] as const]),
    ...(search === undefined ? [] : [['_search', search] as const]),
  ];
}

export function checkFilters({ filter = [] }: QueryFlags): string | undefined {
  const wrong = filter.find((text) => text.indexOf('=') < 1);
  return wrong === undefined
    ? undefined
    : `--filter must be column=value or column=op.value, not ${JSON.stringify(wrong)}.`;
}

/** Columns cannot be named like a group, so `or=(…)` is always a group. */
function filterPair(text: string): QueryPair {
  const [, group, value] = /^((?:not\.)?(?:or|and|not))=(.*)$/s.exec(text) ?? [];
  return group === undefined || value === undefined ? ['filter', text] : [group, value];
}

export const rowDataFlags = {
  data: { type: 'string', placeholder: 'json', summary: 'Columns as a JSON object' },
  'from-file': {
    type: 'string',
    placeholder: 'path',
    excludes: ['data'],
    summary: 'File with the JSON object; - reads standard input',
  },
} as const satisfies Flags;

/** The unchanged text of the object, so that numbers keep all digits. The server limits the size of a row. */
export async function readRowData(
  ctx: Ctx,
  flags: { data?: string | undefined; 'from-file'?: string | undefined },
): Promise<string> {
  const path = flags['from-file'];
  const text = (
    path === undefined ? (flags.data ?? '') : await readInputText(ctx, path, { bytesMax: batchBytesMax })
  )
    .replace(/^\uFEFF/, '')
    .trim();
  const from = path === undefined ? '--data' : inputName(path);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    const several = text.includes('\n') ? 'Use svc rows import for a file of many rows.' : undefined;
    throw new CliError('usage', `${from} is not a JSON object.`, { next: several, cause });
  }
  if (isObject(value)) return text;
  throw usageError(`${from} is not a JSON object.`, 'Use svc rows import for many rows.');
}

type Row = Record<string, unknown>;

export function rowsResult(ctx: Ctx, value: unknown, rows: readonly Row[]): Result {
  return {
    // The YAML library does not know raw JSON numbers.
    value: ctx.globals.format === 'yaml' ? plainValues(value) : value,
    view: { columns: rowColumns(rows), exact: true },
  };
}

function rowColumns(rows: readonly Row[]): Column[] {
  const names = new Set(rows.flatMap(Object.keys));
  return [...names].map((name) => ({ title: name, value: (row) => row[name] }));
}

export const rowOutput: JsonSchema = {
  type: 'object',
  description: 'The row: one property per column, named as in --select.',
};

export const rowsOutput: JsonSchema = {
  type: 'object',
  properties: {
    data: { type: 'array', items: rowOutput },
    page: { type: 'integer' },
    per_page: { type: 'integer' },
    has_more: { type: 'boolean' },
    next_cursor: { anyOf: [{ type: 'string' }, { type: 'null' }] },
  },
  required: ['data', 'page', 'per_page', 'has_more', 'next_cursor'],
};

export function changeRow(
  ctx: Ctx,
  rows: RowsClient,
  call: RowCall,
  result: (answer: RowAnswer) => Result,
): Promise<Result> {
  const { query = [], headers = {} } = call;
  return carryOut(ctx, {
    irreversible: call.method === 'DELETE',
    preview: async () =>
      (await rows.call({ ...call, query: [...query, ['dry_run', 'true']] })).body as Preview,
    execute: async (plan) => {
      const once = (call.method === 'POST' || call.of === undefined) && {
        'idempotency-key': crypto.randomUUID(),
      };
      const ifPlan = plan !== undefined && { 'if-plan': plan };
      return result(await rows.call({ ...call, headers: { ...headers, ...once, ...ifPlan } }));
    },
  });
}
