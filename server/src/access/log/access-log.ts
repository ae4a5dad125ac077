import type { listAccessLog as shape } from '@svc/contract/access-log.shapes.ts';
import { type accessLogActors, accessLogDaysKept } from '@svc/contract/access-log.ts';
import type { Logger } from 'pino';
import type { z } from 'zod';
import type { Caller, TenantCtx } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { fail } from '../../core/problem.ts';
import { daysAfter, isUuid } from '../../core/values.ts';
import { findMember } from '../../people/tenants/members.ts';
import { canDecideFor } from '../connectors/access-settings.ts';
import { findConnectorRow } from '../connectors/connectors.ts';
import { type AccessLogRow, deleteRowsBefore, findAppId, insertRows, listRows } from './store.ts';

/** One read of governed data: names of columns and counts, never values. */
export interface GovernedRead {
  tenantId: string;
  actor: { kind: (typeof accessLogActors)[number]; id: string; name: string };
  /** The app that read for the person. */
  throughApp: string | null;
  connectorId: string | null;
  /** The app whose table was read. */
  appId: string | null;
  resourcePath: string;
  action: string;
  columns: readonly string[];
  maskedColumns: readonly string[];
  rows: number;
  grantIds: readonly string[];
  policyIds: readonly string[];
  requestId: string;
}

export function readerOf(caller: Caller): Pick<GovernedRead, 'actor' | 'throughApp'> {
  const kind = caller.kind === 'app' || caller.kind === 'service_account' ? caller.kind : 'user';
  return {
    actor: { kind, id: caller.userId, name: kind === 'user' ? caller.email : caller.name },
    throughApp: caller.throughApp ?? null,
  };
}

export interface AccessLog {
  /** Returns at once; the entry is written within about half a second. */
  recordRead(read: GovernedRead): void;
  /** Writes all entries recorded so far. */
  flush(): Promise<void>;
  stop(): Promise<void>;
}

const flushMs = 500;
const batchMax = 500;
/** While the database does not answer, entries wait in memory up to this number. */
const waitingMax = 100_000;

/**
 * Entries are collected in memory and written in the background: a read does not wait for its entry. A process that is
 * killed loses the entries of about the last second.
 */
export function createAccessLog({ db, log, now }: { db: Db; log: Logger; now: () => Date }): AccessLog {
  let waiting: AccessLogRow[] = [];
  let dropped = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let writing: Promise<void> | undefined;

  const schedule = () => {
    timer ??= setTimeout(() => void flush().catch(() => {}), flushMs);
  };

  async function write(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, batchMax);
      try {
        await insertRows(db, batch);
      } catch (error) {
        log.error({ err: error, waiting: waiting.length }, 'writing the access log failed');
        if (!isDataError(error)) {
          schedule();
          throw error;
        }
        await writeEach(batch);
      }
      waiting = waiting.slice(batch.length);
    }
    if (dropped > 0) log.error({ dropped }, 'access log entries were dropped');
    dropped = 0;
  }

  /** One entry that the database refuses must not hold up the others. */
  async function writeEach(batch: readonly AccessLogRow[]): Promise<void> {
    for (const row of batch)
      await insertRows(db, [row]).catch((error: unknown) => {
        if (!isDataError(error)) throw error;
        dropped += 1;
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

  return {
    recordRead(read) {
      if (waiting.length >= waitingMax) {
        dropped += 1;
        return;
      }
      waiting.push(accessLogRow(read, now()));
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

function accessLogRow(read: GovernedRead, at: Date): AccessLogRow {
  return {
    tenant_id: read.tenantId,
    at,
    actor_kind: read.actor.kind,
    actor_id: read.actor.id,
    actor_name: read.actor.name,
    through_app_id: read.throughApp,
    connector_id: read.connectorId,
    app_id: read.appId,
    resource_path: read.resourcePath,
    action: read.action,
    columns: read.columns,
    masked_columns: read.maskedColumns,
    rows: read.rows,
    grant_ids: read.grantIds,
    policy_ids: read.policyIds,
    request_id: read.requestId,
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
  // An unknown name matches no entry.
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
      ({ tenant_id: _, at, rows: count, columns, masked_columns, grant_ids, policy_ids, ...row }) => ({
        ...row,
        at: at.toISOString(),
        rows: Number(count),
        columns: [...columns],
        masked_columns: [...masked_columns],
        grant_ids: [...grant_ids],
        policy_ids: [...policy_ids],
      }),
    ),
    next_cursor: last ? Buffer.from(`${last.at.getTime()} ${last.id}`).toString('base64url') : null,
  };
}

/** By id also for former members, apps and service accounts. */
async function findActorId(ctx: TenantCtx, ref: string): Promise<string | null> {
  if (isUuid(ref)) return ref.toLowerCase();
  return (await findMember(ctx.db, ctx.tenant.id, ref))?.userId ?? null;
}

function parseCursor(cursor: string): { at: Date; id: string } {
  const [, time, id] =
    /^(\d{1,14}) (\d{1,19})$/.exec(Buffer.from(cursor, 'base64url').toString('latin1')) ?? [];
  if (id === undefined) throw fail('invalid_cursor');
  return { at: new Date(Number(time)), id };
}

export async function deleteOldEntries(db: Db, { now }: { now: Date }): Promise<void> {
  await deleteRowsBefore(db, daysAfter(now, -accessLogDaysKept));
}
