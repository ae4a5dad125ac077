import { objectText } from '@svc/contract/json.ts';
import type { Preview } from '@svc/contract/plan.ts';
import { appPath } from '@svc/contract/row-path.ts';
import { affectedDefault, affectedMax, batchBytesMax, batchOperationsMax } from '@svc/contract/rows.ts';
import { batchRows, deleteRows, updateRows } from '@svc/contract/rows-endpoints.ts';
import { createRowsClient } from '@svc/sdk/rows.ts';
import { defineCommand, objectSchema } from '../command.ts';
import type { Ctx } from '../context.ts';
import type { Flags } from '../framework/declaration.ts';
import { CliError, usageError } from '../framework/errors.ts';
import { appFlag } from '../inputs/common.ts';
import { inputName, readInputText } from '../inputs/files.ts';
import { carryOut } from '../mutation.ts';
import {
  changeRow,
  checkFilters,
  filterFlags,
  readRowData,
  rowDataFlags,
  rowOutput,
  rowQuery,
  rowsCredential,
  rowsResult,
} from '../rows/row-command.ts';
import { openRows, type QueryPair } from '../rows/rows-client.ts';

const tablePositional = { name: 'table', summary: 'Table name' } as const;

const manyFlags = {
  ...appFlag,
  filter: { ...filterFlags.filter, required: true },
  'max-affected': {
    type: 'integer',
    min: 1,
    max: affectedMax,
    summary: `Change nothing if more rows match (${affectedDefault})`,
  },
} as const satisfies Flags;

interface ManyFlags {
  filter?: string[] | undefined;
  'max-affected'?: number | undefined;
}

function manyQuery(flags: ManyFlags): QueryPair[] {
  const max = flags['max-affected'];
  return [...rowQuery(flags), ...(max === undefined ? [] : [['_max_affected', String(max)] as const])];
}

const rowIds = { type: 'array', items: {} } as const;

export const rowsUpdateMany = defineCommand({
  words: 'rows update-many',
  summary: 'Update columns of all rows that match a filter',
  description: `All rows change or none. Rows that you may not change are skipped. ${rowsCredential}`,
  kind: 'mutate',
  credential: 'login_or_pat',
  calls: `${updateRows.method} ${updateRows.path}`,
  positionals: [tablePositional],
  flags: {
    ...manyFlags,
    set: {
      type: 'string',
      repeated: true,
      placeholder: 'column=value',
      excludes: ['data', 'from-file'],
      summary: 'New value of a column, as JSON or as plain text: done=true, note=later, code=\'"7"\'',
    },
    ...rowDataFlags,
  },
  oneRequired: [['set', 'data', 'from-file']],
  check: ({ flags }) => checkFilters(flags) ?? checkSets(flags.set),
  run: async (ctx, { flags, positionals }) => {
    const body = flags.set ? setBody(flags.set) : await readRowData(ctx, flags);
    const rows = await openRows(ctx, { app: flags.app, table: positionals.table });
    const call = { method: 'PATCH', query: manyQuery(flags), body } as const;
    return changeRow(ctx, rows, call, ({ body: answer }) => rowsResult(ctx, answer, []));
  },
  output: objectSchema({ updated: 'integer', ids: rowIds }, ['ids']),
  examples: {
    'orders --app shop --filter state=eq.open --set state=late --max-affected 50':
      'Preview a change of many rows',
    "orders --app shop --filter 'total=gt.100' --set vip=true --set note='big order' --execute":
      'Set two columns',
  },
});

function checkSets(sets: readonly string[] = []): string | undefined {
  const wrong = sets.find((text) => text.indexOf('=') < 1);
  return wrong === undefined ? undefined : `--set must be column=value, not ${JSON.stringify(wrong)}.`;
}

/** A value that is JSON is sent as it is written, so that numbers keep all digits. */
function setBody(sets: readonly string[]): string {
  return objectText(
    new Map(
      sets.map((text) => {
        const equals = text.indexOf('=');
        const value = text.slice(equals + 1);
        return [text.slice(0, equals), isJson(value) ? value : JSON.stringify(value)];
      }),
    ),
  );
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

export const rowsDeleteMany = defineCommand({
  words: 'rows delete-many',
  summary: 'Permanently delete all rows that match a filter',
  description: `All rows are deleted or none. Rows that you may not delete are skipped. ${rowsCredential}`,
  kind: 'mutate',
  credential: 'login_or_pat',
  calls: `${deleteRows.method} ${deleteRows.path}`,
  positionals: [tablePositional],
  flags: manyFlags,
  check: ({ flags }) => checkFilters(flags),
  run: async (ctx, { flags, positionals }) => {
    const rows = await openRows(ctx, { app: flags.app, table: positionals.table });
    const call = { method: 'DELETE', query: manyQuery(flags) } as const;
    return changeRow(ctx, rows, call, ({ body }) => rowsResult(ctx, body, []));
  },
  output: objectSchema({ deleted: 'integer', ids: rowIds }, ['ids']),
  examples: {
    'orders --app shop --filter created_at=lt.2020-01-01T00:00:00Z --max-affected 1000': 'Preview a deletion',
    'orders --app shop --filter state=eq.cancelled --execute': 'Delete them',
  },
});

export const rowsBatch = defineCommand({
  words: 'rows batch',
  summary: 'Insert, update, upsert and delete rows of several tables in one transaction',
  description:
    `The file is {"operations":[…]}, or the list alone, of at most ${batchOperationsMax} operations; ` +
    `{"$ref":"order.id"} stands for a value of the row of an earlier operation with "as":"order". ${rowsCredential}`,
  kind: 'mutate',
  credential: 'login_or_pat',
  calls: `${batchRows.method} ${batchRows.path}`,
  flags: {
    ...appFlag,
    file: {
      type: 'string',
      required: true,
      placeholder: 'path',
      summary: 'File with the operations; - reads standard input',
    },
  },
  run: async (ctx, { flags }) => {
    const { text: body, irreversible } = await readOperations(ctx, flags.file);
    const session = await ctx.session();
    const { resolveTenant } = await import('../session/tenant.ts');
    const url = `${session.baseUrl}${appPath(await resolveTenant(ctx), flags.app)}/_batch`;
    const client = createRowsClient({ url, fetch: session.send });
    return carryOut(ctx, {
      irreversible,
      preview: async () =>
        (await client.call({ method: 'POST', query: [['dry_run', 'true']], body })).body as Preview,
      execute: async (plan) => {
        const ifPlan = plan !== undefined && { 'if-plan': plan };
        const headers = { 'idempotency-key': crypto.randomUUID(), ...ifPlan };
        return rowsResult(ctx, (await client.call({ method: 'POST', headers, body })).body, []);
      },
    });
  },
  output: objectSchema({
    results: {
      type: 'array',
      items: objectSchema({ op: 'string', status: 'integer', id: {}, etag: 'string', row: rowOutput }, [
        'id',
        'etag',
        'row',
      ]),
    },
  }),
  examples: {
    '--app shop --file ops.json': 'Preview the operations of a file',
    '--app shop --file ops.json --execute': 'Execute them, all or none',
  },
});

async function readOperations(ctx: Ctx, path: string): Promise<{ text: string; irreversible: boolean }> {
  const text = (await readInputText(ctx, path, { bytesMax: batchBytesMax })).replace(/^\uFEFF/, '').trim();
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new CliError('usage', `${inputName(path)} is not JSON.`, { cause });
  }
  const list = Array.isArray(value) ? value : (value as { operations?: unknown } | null)?.operations;
  if (!Array.isArray(list)) throw usageError(`${inputName(path)} has no list of operations.`);
  const irreversible = list.some((operation) => (operation as { op?: unknown } | null)?.op === 'delete');
  return { text: Array.isArray(value) ? `{"operations":${text}}` : text, irreversible };
}
