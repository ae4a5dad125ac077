import type { AppCtx } from '../plumbing/context.ts';
import { type PageQuery, pageAnswer, windowOf } from '../plumbing/paging.ts';
import { countTableGrantsByTable } from './grants-store.ts';
import { placeOf } from './lock-table.ts';
import { tableRecord } from './rules.ts';
import { listTableRows } from './store.ts';

export async function listTables(ctx: AppCtx, query: PageQuery) {
  const { rows, total } = await listTableRows(ctx.db, placeOf(ctx), windowOf(query));
  const ids = rows.map(({ id }) => id);
  const grants = await countTableGrantsByTable(ctx.db, ctx.tenant.id, ids);
  const records = rows.map((row) => ({ ...tableRecord(row), grants: grants.get(row.id) ?? 0 }));
  return pageAnswer(query, records, total);
}
