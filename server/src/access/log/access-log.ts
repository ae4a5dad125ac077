import type { listAccessLog as shape } from '@svc/contract/access-log.shapes.ts';
import { type accessLogActors, accessLogRetentionDays } from '@svc/contract/access-log.ts';
import type { Logger } from 'pino';
import type { z } from 'zod';
import type { Caller, TenantCtx } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { fail } from '../../core/problem.ts';
import { daysAfter, isUuid } from '../../core/values.ts';
import { findMember } from '../../people/tenants/members.ts';
import { canDecideFor } from '../connectors/access-settings.ts';
import { findConnectorRow } from '../connectors/connectors.ts';
import {
  deleteRowsBefore,
  findAppId,
  insertRows,
  listRows,
  type Position,
  type StoredReads,
  spanMsMax,
} from './store.ts';

export interface GovernedData {
  tenantId: string;
  actor: { kind: (typeof accessLogActors)[number]; id: string; name: string };
  throughApp: string | null;
  connectorId: string | null;
  appId: string | null;
  resourcePath: string;
  action: string;
  columns: readonly string[];
  maskedColumns: readonly string[];
  grantIds: readonly string[];
  policyIds: readonly string[];
}

export function readerOf(caller: Caller): Pick<GovernedData, 'actor' | 'throughApp'> {
  const kind = caller.kind === 'app' || caller.kind === 'service_account' ? caller.kind : 'user';
  return {
    actor: { kind, id: caller.userId, name: kind === 'user' ? caller.email : caller.name },
    throughApp: caller.throughApp ?? null,
  };
}

export interface AccessLog {
  /** Returns at once. Reads with the same object `data` are stored together, which costs little. */
  recordRead(data: GovernedData, read: { rows: number; requestId: string }): void;
  flush(): Promise<void>;
  stop(): Promise<void>;
}

const flushMs = 500;
const batchMax = 500;
/** While the database does not answer, entries wait in memory up to this number. */
const waitingMax = 100_000;

interface Reads {
  data: GovernedData;
  /** In milliseconds, as the arrays beside it in the order of the reads. */
  times: number[];
  rows: number[];
  requestIds: string[];
}

/** A read does not wait for its entry. A process that is killed loses the entries of about the last second. */
export function createAccessLog({ db, log, now }: { db: Db; log: Logger; now: () => Date }): AccessLog {
  let waiting: Reads[] = [];
  let waitingReads = 0;
  let open = new Map<GovernedData, Reads>();
  let dropped = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let writing: Promise<void> | undefined;

  const schedule = () => {
    timer ??= setTimeout(() => void flush().catch(() => {}), flushMs);
  };

  async function write(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, batchMax);
      open = new Map();
      try {
        await insertRows(db, batch.map(storedReads));
      } catch (error) {
        log.error({ err: error, waiting: waitingReads }, 'writing the access log failed');
        if (!isDataError(error)) {
          schedule();
          throw error;
        }
        await writeEach(batch);
      }
      waiting = waiting.slice(batch.length);
      for (const { times } of batch) waitingReads -= times.length;
    }
    if (dropped > 0) log.error({ dropped }, 'access log entries were dropped');
    dropped = 0;
  }

  /** One entry that the database refuses must not hold up the others. */
  async function writeEach(batch: readonly Reads[]): Promise<void> {
    for (const reads of batch)
      await insertRows(db, [storedReads(reads)]).catch((error: unknown) => {
        if (!isDataError(error)) throw error;
        dropped += reads.times.length;
      });
  }

  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    writing ??= write().finally(() => {
      writing = undefined;
    });
    return writing;
  }

  function openReads(data: GovernedData, at: number): Reads {
    const found = open.get(data);
    const first = found?.times[0];
    if (found && first !== undefined && at - first < spanMsMax) return found;
    const reads: Reads = { data, times: [], rows: [], requestIds: [] };
    open.set(data, reads);
    waiting.push(reads);
    return reads;
  }

  return {
    recordRead(data, { rows, requestId }) {
      if (waitingReads >= waitingMax) {
        dropped += 1;
        return;
      }
      const at = now().getTime();
      const reads = openReads(data, at);
      reads.times.push(at);
      reads.rows.push(rows);
      reads.requestIds.push(requestId);
      waitingReads += 1;
      // Not on each entry beyond a batch: `write` takes all that wait.
      if (waiting.length === batchMax) void flush().catch(() => {});
      else schedule();
    },
    async flush() {
      // A write in progress may have begun before the last entry.
      await writing?.catch(() => {});
      if (waiting.length > 0) await flush();
    },
    async stop() {
      await writing?.catch(() => {});
      if (waiting.length > 0) await flush().catch(() => {});
      clearTimeout(timer);
    },
  };
}

/** SQLSTATE class 22: the values are wrong, and would be the next time. */
function isDataError(error: unknown): boolean {
  return /^22/.test(String(Object(error).code));
}

function storedReads({ data, times, rows, requestIds }: Reads): StoredReads {
  const last = times.length - 1;
  const at = times[last] ?? 0;
  const earlier: string[] = [];
  for (let i = last - 1; i >= 0; i--) earlier.push(`${at - (times[i] ?? at)} ${rows[i]} ${requestIds[i]}`);
  return {
    tenant_id: data.tenantId,
    at: new Date(at).toISOString(),
    actor_kind: data.actor.kind,
    actor_id: data.actor.id,
    actor_name: data.actor.name,
    through_app_id: data.throughApp,
    connector_id: data.connectorId,
    app_id: data.appId,
    resource_path: data.resourcePath,
    action: data.action,
    columns: data.columns,
    masked_columns: data.maskedColumns,
    rows: rows[last] ?? 0,
    grant_ids: data.grantIds,
    policy_ids: data.policyIds,
    request_id: requestIds[last] ?? '',
    earlier: earlier.join('\n'),
  };
}

type Query = z.output<typeof shape.query>;

export async function listAccessLog(ctx: TenantCtx, query: Query): Promise<z.output<typeof shape.answer>> {
  const connector = query.connector && (await findConnectorRow(ctx.db, ctx.tenant.id, query.connector));
  const canRead = ctx.tenant.role === 'tenant_admin' || (connector && canDecideFor(ctx, connector));
  if (!canRead)
    throw fail('forbidden', {
      detail:
        'Only admins read the access log; owners of a connector read that of their connector (connector=…).',
    });
  const actorId = query.user && (await findActorId(ctx, query.user));
  const appId = query.app && (await findAppId(ctx.db, ctx.tenant.id, query.app));
  if ((query.connector && !connector) || actorId === null || appId === null)
    return { items: [], next_cursor: null };
  const found = await listRows(ctx.db, ctx.tenant.id, {
    actorId,
    appId,
    connectorId: connector ? connector.id : undefined,
    path: query.path,
    from: query.from ? new Date(query.from) : undefined,
    to: query.to ? new Date(query.to) : undefined,
    before: query.cursor === undefined ? null : parseCursor(query.cursor),
    limit: query.per_page + 1,
  });
  const rows = found.slice(0, query.per_page);
  const last = found.length > query.per_page ? rows.at(-1) : undefined;
  return {
    items: rows.map(
      ({
        tenant_id: _,
        position,
        at,
        rows: count,
        columns,
        masked_columns,
        grant_ids,
        policy_ids,
        ...row
      }) => ({
        ...row,
        id: position.place === 0 ? position.id : `${position.id}-${position.place}`,
        at: at.toISOString(),
        rows: Number(count),
        columns: [...columns],
        masked_columns: [...masked_columns],
        grant_ids: [...grant_ids],
        policy_ids: [...policy_ids],
      }),
    ),
    next_cursor: last ? formatCursor(last.position) : null,
  };
}

async function findActorId(ctx: TenantCtx, ref: string): Promise<string | null> {
  if (isUuid(ref)) return ref.toLowerCase();
  return (await findMember(ctx.db, ctx.tenant.id, ref))?.userId ?? null;
}

const formatCursor = ({ at, id, place }: Position) =>
  Buffer.from(`${at.getTime()} ${id} ${place}`).toString('base64url');

function parseCursor(cursor: string): Position {
  const text = Buffer.from(cursor, 'base64url').toString('latin1');
  const [, time, id, place] = /^(\d{1,14}) (\d{1,19}) (\d{1,6})$/.exec(text) ?? [];
  if (id === undefined) throw fail('invalid_cursor');
  return { at: new Date(Number(time)), id, place: Number(place) };
}

export async function deleteOldEntries(db: Db, { now }: { now: Date }): Promise<void> {
  await deleteRowsBefore(db, daysAfter(now, -accessLogRetentionDays));
}
