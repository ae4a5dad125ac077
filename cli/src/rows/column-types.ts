import { ProblemError } from '@svc/contract/client.ts';
import { isColumnType } from '@svc/contract/column-spec.ts';
import { type ColumnType, columnTypes } from '@svc/contract/columns.ts';
import { getTable } from '@svc/contract/tables.ts';
import type { Ctx } from '../context.ts';
import { usage } from '../errors.ts';
import { listed } from '../flag-value.ts';
import type { RowsPlace } from '../rows-client.ts';

export interface KnownColumn {
  type: ColumnType;
  /** Null where it is not known. */
  nullable: boolean | null;
}

export type KnownColumns = ReadonlyMap<string, KnownColumn>;

/** The table's columns, or null where the caller may not ask for them: a token, or somebody with a table grant. */
export async function columnsOfTable(
  ctx: Ctx,
  { tenant, app, table }: RowsPlace,
): Promise<KnownColumns | null> {
  const { client, credential } = await ctx.session();
  if (credential === 'SVC_API_KEY') return null;
  try {
    const params = { tenantID: tenant, app, table };
    const { columns } = await client.call(getTable, { params }, { signal: ctx.signal });
    return new Map(columns.map(({ name, type, nullable }) => [name, { type, nullable }]));
  } catch (cause) {
    if (cause instanceof ProblemError && [403, 404].includes(cause.problem.status)) return null;
    throw cause;
  }
}

/** `--types age:int,born:timestamptz`. */
export function parseTypes(entries: readonly string[]): KnownColumns {
  return new Map(
    entries.map((entry) => {
      const [name = '', type = ''] = entry.split(':');
      if (name === '' || !isColumnType(type)) {
        throw usage(
          `--types takes column:type, where type is ${listed(columnTypes)}; not ${JSON.stringify(entry)}.`,
        );
      }
      return [name, { type, nullable: null }];
    }),
  );
}
