import type { LogLine } from '@svc/contract/deployments.shapes.ts';
import { type logStreams, retainedAppLogLines } from '@svc/contract/deployments.ts';
import { retainedRunLogs } from '@svc/contract/runs.ts';
import { CompiledQuery, sql } from 'kysely';
import type { Logger } from 'pino';
import type { z } from 'zod';
import type { Db } from '../../core/db.ts';
import { type Invalidation, notifySql } from '../../core/invalidation.ts';
import { fail } from '../../core/problem.ts';

type LogStream = (typeof logStreams)[number];
export type LogSource = 'build' | 'app' | 'run';

export interface NewLine {
  stream: LogStream;
  at: Date;
  text: string;
}

/** `deploymentId`: of a build log, of the app log of one deployment (null: of all), or the ID of a run. */
interface LogScope {
  tenantId: string;
  appId: string;
  source: LogSource;
  deploymentId: string | null;
  process?: string | undefined;
}

interface LogRow extends NewLine {
  id: number;
  process: string | null;
  deployment: number | null;
}

interface LogWriter {
  appId: string;
  deploymentId: string;
  source: LogSource;
  process: string | null;
}

/** The lock makes lines of an app visible in the order of their ids: a cursor never skips a line. */
export async function insertLines(
  db: Db,
  { appId, deploymentId, source, process }: LogWriter,
  { lines, tag }: { lines: readonly NewLine[]; tag: string | null },
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await sql`select pg_advisory_xact_lock(hashtextextended(${`logs ${appId}`}, 0))`.execute(tx);
    await sql`insert into svc.log_lines (app_id, deployment_id, source, process, stream, at, text)
      select ${appId}::uuid, ${deploymentId}::uuid, ${source}, ${process}, l.stream, l.at, l.text
      from unnest(${lines.map(({ stream }) => stream)}::text[], ${lines.map(({ at }) => at)}::timestamptz[],
        ${lines.map(({ text }) => text)}::text[]) with ordinality as l (stream, at, text, place)
      order by l.place`.execute(tx);
    if (tag !== null) await tx.executeQuery(CompiledQuery.raw(notifySql, [tag]));
  });
}

export async function countLines(
  db: Db,
  { deploymentId, source }: { deploymentId: string; source: LogSource },
): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from svc.log_lines
    where deployment_id = ${deploymentId} and source = ${source}`.execute(db);
  return rows[0]?.count ?? 0;
}

const lineColumns = sql`id, stream, process, at, text,
  (select d.seq from svc.deployments d where d.id = deployment_id) as deployment`;

async function listLinesAfter(db: Db, scope: LogScope, { after, limit }: { after: number; limit: number }) {
  const { rows } = await sql<LogRow>`
    select ${lineColumns} from svc.log_lines
    where ${ofScope(scope)} and id > ${after} order by id limit ${limit}`.execute(db);
  return rows;
}

async function listLastLines(db: Db, scope: LogScope, count: number): Promise<LogRow[]> {
  const { rows } = await sql<LogRow>`
    select ${lineColumns} from svc.log_lines
    where ${ofScope(scope)} order by id desc limit ${count}`.execute(db);
  return rows.reverse();
}

function ofScope({ tenantId, appId, source, deploymentId, process }: LogScope) {
  const isOfTenant = sql`exists (select from svc.apps a where a.id = ${appId} and a.tenant_id = ${tenantId})`;
  const isOfProcess = process === undefined ? sql`true` : sql`coalesce(process, 'web') = ${process}`;
  return deploymentId === null
    ? sql`app_id = ${appId} and source = ${source} and ${isOfProcess} and ${isOfTenant}`
    : sql`app_id = ${appId} and deployment_id = ${deploymentId} and source = ${source} and ${isOfProcess}
        and ${isOfTenant}`;
}

export async function deleteOldAppLines(
  db: Db,
  appId: string,
  { retained, atOnce }: { retained: number; atOnce: number },
): Promise<boolean> {
  const { numAffectedRows } = await sql`
    delete from svc.log_lines where id in (
      select id from svc.log_lines where app_id = ${appId} and source = 'app' and id <= (
        select id from svc.log_lines where app_id = ${appId} and source = 'app' order by id desc offset ${retained} limit 1)
      order by id limit ${atOnce})`.execute(db);
  return Number(numAffectedRows ?? 0) === atOnce;
}

/** Skips from app to app in the index instead of reading all lines. */
async function listAppsWithLines(db: Db): Promise<string[]> {
  const { rows } = await sql<{ app_id: string }>`
    with recursive each as (
      (select app_id from svc.log_lines order by app_id limit 1)
      union all
      select (select l.app_id from svc.log_lines l where l.app_id > each.app_id order by l.app_id limit 1)
      from each where each.app_id is not null)
    select app_id from each where app_id is not null`.execute(db);
  return rows.map(({ app_id }) => app_id);
}

/** Deletes a batch of the logs of old builds or runs, whose ids are in order of creation; true while there may be more. */
async function deleteOldLogs(
  db: Db,
  appId: string,
  { source, retained, atOnce }: { source: 'build' | 'run'; retained: number; atOnce: number },
): Promise<boolean> {
  const { numAffectedRows } = await sql`
    delete from svc.log_lines where id in (
      select id from svc.log_lines where app_id = ${appId} and source = ${source} and deployment_id <= (
        select distinct deployment_id from svc.log_lines where app_id = ${appId} and source = ${source}
        order by deployment_id desc offset ${retained} limit 1)
      limit ${atOnce})`.execute(db);
  return Number(numAffectedRows ?? 0) === atOnce;
}

const retainedBuildLogs = 50;
const linesAtOnce = 5_000;

export async function deleteExpiredLogs({ db, log }: { db: Db; log: Logger }): Promise<void> {
  for (const appId of await listAppsWithLines(db)) {
    await deleteExpiredAppLogs(db, appId).catch((error: unknown) =>
      log.error({ err: error, app: appId }, 'delete of expired log lines failed'),
    );
  }
}

async function deleteExpiredAppLogs(db: Db, appId: string): Promise<void> {
  const app = { retained: retainedAppLogLines, atOnce: linesAtOnce };
  while (await deleteOldAppLines(db, appId, app));
  for (const [source, retained] of [
    ['build', retainedBuildLogs],
    ['run', retainedRunLogs],
  ] as const)
    while (await deleteOldLogs(db, appId, { source, retained, atOnce: linesAtOnce }));
}

export interface LogQuery {
  cursor?: string | undefined;
  limit: number;
  tail?: number | undefined;
  wait_seconds: number;
}

export interface LogPage {
  items: z.output<typeof LogLine>[];
  next_cursor: string;
  ended: boolean;
}

interface LogReading {
  scope: LogScope;
  tag: string;
  isOver: () => Promise<boolean>;
  /** Throws if the caller lost the permission during a wait. */
  confirm: () => Promise<unknown>;
  waits: LogWaits;
}

/** Notifications may be lost, and there is none for the end of a deployment. */
const pollMs = 1_000;

export async function readLines(db: Db, query: LogQuery, reading: LogReading): Promise<LogPage> {
  const { scope, tag, waits } = reading;
  const until = performance.now() + query.wait_seconds * 1_000;
  const after = query.cursor === undefined ? 0 : readLogCursor(scope, query.cursor);
  for (;;) {
    // Read before the lines: a log that is over has all of them.
    const isOver = await reading.isOver();
    const notified = Promise.withResolvers<void>();
    const leftMs = Math.min(pollMs, until - performance.now());
    // Subscribe before reading, so that no line is missed in between.
    if (leftMs > 0 && !isOver) void waits.wait(tag, leftMs).then(notified.resolve);
    const rows = await readRows(db, scope, { ...query, after });
    const isWhole = rows.length < (query.cursor === undefined ? (query.tail ?? query.limit) : query.limit);
    if (rows.length > 0 || isOver || leftMs <= 0 || waits.isStopping())
      return page(scope, rows, { after, ended: isOver && (isWhole || isTail(query)) });
    await notified.promise;
    await reading.confirm();
  }
}

/** For other slices, which must not import the store. */
export const readLastLines: typeof listLastLines = listLastLines;

function readRows(db: Db, scope: LogScope, query: LogQuery & { after: number }) {
  return isTail(query) ? listLastLines(db, scope, query.tail) : listLinesAfter(db, scope, query);
}

function isTail<Q extends LogQuery>(query: Q): query is Q & { tail: number } {
  return query.cursor === undefined && query.tail !== undefined;
}

function page(
  scope: LogScope,
  rows: readonly LogRow[],
  { after, ended }: { after: number; ended: boolean },
): LogPage {
  return {
    items: rows.map(({ id: _, at, ...line }) => ({ time: at.toISOString(), ...line })),
    next_cursor: logCursor(scope, rows.at(-1)?.id ?? after),
    ended,
  };
}

/** Not signed: access is checked for each request, and the scope must match. */
function logCursor(scope: LogScope, after: number): string {
  return Buffer.from(`${scopeName(scope)} ${after}`).toString('base64url');
}

function readLogCursor(scope: LogScope, cursor: string): number {
  const [, name, after] = /^(.+) (\d{1,15})$/.exec(Buffer.from(cursor, 'base64url').toString('latin1')) ?? [];
  if (name !== scopeName(scope)) throw fail('invalid_cursor');
  return Number(after);
}

function scopeName({ appId, source, deploymentId, process }: LogScope): string {
  return `${source} ${deploymentId ?? appId}${process === undefined ? '' : ` ${process}`}`;
}

export interface LogWaits {
  wait(tag: string, ms: number): Promise<void>;
  isStopping(): boolean;
  stop(): void;
}

export function createLogWaits(invalidation: Pick<Invalidation, 'onChange'>): LogWaits {
  const waiting = new Map<string, Set<() => void>>();
  let stopped = false;
  const wake = (tag: string) => {
    for (const go of waiting.get(tag) ?? []) go();
  };
  const wakeAll = () => {
    for (const tag of waiting.keys()) wake(tag);
  };
  invalidation.onChange((tag) => (tag === null ? wakeAll() : wake(tag)));
  return {
    wait(tag, ms) {
      if (stopped) return Promise.resolve();
      const { promise, resolve } = Promise.withResolvers<void>();
      const waiters = waiting.get(tag) ?? new Set();
      const go = () => {
        clearTimeout(timer);
        waiters.delete(go);
        if (waiters.size === 0 && waiting.get(tag) === waiters) waiting.delete(tag);
        resolve();
      };
      const timer = setTimeout(go, ms);
      waiters.add(go);
      waiting.set(tag, waiters);
      return promise;
    },
    isStopping: () => stopped,
    stop() {
      stopped = true;
      wakeAll();
    },
  };
}

export const logTag = (id: string) => `logs:${id}`;
