import { changesHeartbeatSeconds, eventStreamMediaType } from '@svc/contract/rows.ts';
import { fail } from '../../core/problem.ts';
import { sha256 } from '../../core/values.ts';
import type { FastPathResponse } from '../../http/handlers.ts';
import { type ChangeStream, createChangeStream, type FeedPlan } from './change-stream.ts';
import { emptyResponse, type RowsCtx } from './context.ts';
import { type FeedPositions, logFrom } from './feed-changes.ts';
import type { FeedHub } from './feed-hub.ts';
import { noteHeaders } from './formats.ts';
import { parseQuery, type SelectItem } from './parse-query.ts';
import { planSelect, planWhere } from './plan.ts';
import { hasColumnIn, type RowTable } from './row-table.ts';
import type { TableAccess } from './table-access.ts';

export interface FeedDeps {
  hub: FeedHub;
  positions: FeedPositions;
  /** The epoch of the database cluster: positions of another cluster are invalid. */
  epoch: string;
}

export async function followRows(ctx: RowsCtx, deps: FeedDeps): Promise<FastPathResponse> {
  const { catalogue } = ctx.table;
  if (catalogue.foreign) throw fail('not_found', { detail: 'Tables of connectors have no change feed.' });
  if (!catalogue.changes) throw changesOffError(ctx);
  const query = parseQuery(ctx.search, 'changes', hasColumnIn(ctx.table));
  const planOf = (table: RowTable) => planFeed(table, query, deps.epoch);
  const plan = planOf(ctx.table);
  const headers = {
    'content-type': eventStreamMediaType,
    'cache-control': 'no-store',
    // Proxies that collect responses would hold events back.
    'x-accel-buffering': 'no',
    ...noteHeaders(query),
  };
  if (ctx.request.method === 'HEAD')
    return emptyResponse(200, { ...headers, 'transfer-encoding': 'chunked' });
  ctx.info.extendTimeout();
  const isCurrent = async () => {
    const now = await ctx.currentAccess();
    return now !== null && (now.access === ctx.access || hasSameFeed(now, plan, planOf));
  };
  const stream = createChangeStream({
    plan,
    isCurrent,
    rowDb: ctx.rowDb,
    positions: deps.positions,
    isSnapshot: query.snapshot,
    lastEventId: ctx.request.headers.get('last-event-id'),
    heartbeatMs: changesHeartbeatSeconds * 1000,
    onSent: (rows) => ctx.recordRead({ action: 'read', table: ctx.table, output: plan.output, rows }),
  });
  join(ctx, deps.hub, stream);
  await stream.started;
  return { status: 200, headers, body: stream.readable };
}

function join(ctx: RowsCtx, hub: FeedHub, stream: ChangeStream): void {
  const { id, appId } = ctx.table.catalogue;
  const leave = hub.join({ id, appId, log: logFrom(ctx.table) }, { ...stream, userId: ctx.caller.userId });
  stream.onEnd(leave);
  stream.start();
}

function hasSameFeed(now: TableAccess, plan: FeedPlan, planOf: (table: RowTable) => FeedPlan): boolean {
  if (!now.access.actions.has('read') || !now.table.catalogue.changes) return false;
  try {
    return planOf(now.table).binding === plan.binding;
  } catch {
    return false;
  }
}

function planFeed(
  table: RowTable,
  query: { select: readonly SelectItem[] | null; where: Parameters<typeof planWhere>[1] },
  epoch: string,
): FeedPlan {
  const { catalogue, view, key } = table;
  const { idColumn } = catalogue;
  if (key !== idColumn)
    throw fail('forbidden', { detail: 'A change feed needs the ids of rows, which you do not see.' });
  const output = planSelect(table, withId(query.select, idColumn.name));
  const where = planWhere(table, query.where);
  const idKey = output.columns.find(({ column }) => column === idColumn)?.key ?? idColumn.name;
  const described = [
    epoch,
    catalogue.id,
    catalogue.columns.map(({ name, physical, type }) => [name, physical, type]),
    [view.rows, view.columns],
    where,
    output.columns.map((item) => [item.key, item.column.physical]),
  ];
  return { table, output, where, idKey, binding: sha256(JSON.stringify(described)) };
}

/** Changes name their row. */
function withId(select: readonly SelectItem[] | null, id: string): readonly SelectItem[] | null {
  if (select === null || select.some(({ column }) => column === id)) return select;
  return [{ column: id, alias: id }, ...select.filter(({ alias }) => alias !== id)];
}

function changesOffError({ app, table }: RowsCtx) {
  return fail('changes_off', {
    detail:
      `Table ${table.catalogue.name} has no change feed. An owner can switch it on: ` +
      `svc tables update ${table.catalogue.name} --app ${app.slug} --changes true --execute`,
  });
}
