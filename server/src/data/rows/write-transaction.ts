import type { DeleteAction } from '@svc/contract/column-families.ts';
import { escapeIdentifier } from 'pg';
import type { AuditedChange } from '../../core/context.ts';
import { sqlState } from '../../core/db.ts';
import { makePlan } from '../../core/plan.ts';
import { Failure, fail } from '../../core/problem.ts';
import { sha256 } from '../../core/values.ts';
import type { Transaction } from '../../drivers/row-database/row-pool.ts';
import type { FastPathRequest, FastPathResponse } from '../../http/handlers.ts';
import { causeSetting, previewCause } from '../tables/change-log.ts';
import { always, type PlannedCondition } from '../tables/conditions.ts';
import { changeable, type RowAction } from './access.ts';
import { jsonResponse, type RowsCtx } from './context.ts';
import { runOnce } from './data-schema.ts';
import type { RowInput } from './parse-row.ts';
import { errorCode } from './row-errors.ts';
import { isWhole } from './row-table.ts';
import type { TableAccess } from './table-access.ts';

export type WriteMode = 'preview' | 'execute';
type WriteWork = (tx: Transaction, mode: WriteMode) => Promise<FastPathResponse>;

type WrittenTable = Pick<RowsCtx['table'], 'view' | 'catalogue'>;
type WriteCtx = Pick<
  RowsCtx,
  'caller' | 'rowDb' | 'request' | 'path' | 'search' | 'info' | 'previewConflicts' | 'openRelated'
> &
  ({ table: WrittenTable } | { tables: readonly WrittenTable[] });

const tablesOf = (ctx: WriteCtx) => ('tables' in ctx ? ctx.tables : [ctx.table]);

export function runWrite(
  ctx: WriteCtx,
  options: { dryRun: boolean; key: string | null; bodyHash: () => string; operationsCount?: number },
  work: WriteWork,
): Promise<FastPathResponse> {
  const run = options.dryRun ? () => preview(ctx, work) : () => execute(ctx, options, work);
  // The last of several operations can fail on purpose: the answer says whether one before it conflicted.
  const isLimited = isPreviewed(ctx, options) || (options.operationsCount ?? 1) > 1;
  return retryDeadlock(() => (isLimited ? limitConflicts(ctx, run) : run()));
}

const deadlockCode = '40P01';
const attemptsMax = 3;

/** PostgreSQL rolls back one of two transactions that wait for each other; it can run again. */
async function retryDeadlock<T>(run: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await run();
    } catch (error) {
      if (sqlState(error) !== deadlockCode || attempt === attemptsMax) throw error;
    }
  }
}

function execute(
  ctx: WriteCtx,
  options: { key: string | null; bodyHash: () => string },
  work: WriteWork,
): Promise<FastPathResponse> {
  return ctx.rowDb.transaction(async (tx) => {
    const plan = ifPlanHeader(ctx.request);
    // Preview and execution use one snapshot, set before the key lookup, which is already a read.
    if (plan !== null) await tx.query('set transaction isolation level repeatable read', []);
    await setCause(ctx, tx);
    const store = plan === null ? () => work(tx, 'execute') : () => executeIfUnchanged(ctx, tx, plan, work);
    if (options.key === null) return { end: 'commit', value: await store() };
    const request = {
      callerId: ctx.caller.userId,
      key: options.key,
      requestHash: sha256(
        `${ctx.request.method} ${ctx.path}?${ctx.search}\n${ctx.request.headers.get('prefer') ?? ''}\n${options.bodyHash()}`,
      ),
    };
    const response = await runOnce(tx, tablesOf(ctx), request, async () => {
      const { status, headers, body } = await store();
      return { status, headers, body: bodyText(body) };
    });
    return { end: 'commit', value: { ...response, body: response.body === '' ? null : response.body } };
  });
}

/** The history of rows says who changed them, by which request: their changes are transactions. */
export const hasCause = ({ catalogue }: Pick<WrittenTable, 'catalogue'>) =>
  catalogue.historyDays != null || catalogue.softDeleteDays != null;

/** Whether a row that is deleted changes rows of other tables, which may have a log. */
export const cascadesToOthers = ({ catalogue }: Pick<WrittenTable, 'catalogue'>) =>
  (catalogue.referencedBy ?? []).some(({ onDelete }) => onDelete !== 'restrict');

/** Whether a deleted row cannot be restored, or not with all that was deleted or emptied by references to it. */
export const losesDeleted = (table: Pick<WrittenTable, 'catalogue'>) =>
  table.catalogue.softDeleteDays == null || cascadesToOthers(table);

async function setCause(ctx: WriteCtx, tx: Transaction): Promise<void> {
  if (!tablesOf(ctx).some((table) => hasCause(table) || cascadesToOthers(table))) return;
  const cause = `${ctx.caller.userId} ${ctx.info.requestId}`;
  await tx.query(`select set_config('${causeSetting}', $1, true)`, [cause]);
}

async function setPreviewed(ctx: WriteCtx, tx: Transaction): Promise<void> {
  const isLogged = tablesOf(ctx).some(
    (table) => table.catalogue.changes || hasCause(table) || cascadesToOthers(table),
  );
  if (isLogged) await tx.query(`select set_config('${causeSetting}', $1, true)`, [previewCause]);
}

const conflictsPerMinuteMax = 20;

function preview(ctx: WriteCtx, work: WriteWork): Promise<FastPathResponse> {
  return ctx.rowDb.transaction(async (tx) => {
    await setPreviewed(ctx, tx);
    return { end: 'rollback', value: await work(tx, 'preview') };
  });
}

/** A change with a plan that does not fit is one too. */
export const isPreviewed = ({ request }: Pick<WriteCtx, 'request'>, { dryRun }: { dryRun: boolean }) =>
  dryRun || ifPlanHeader(request) !== null;

/** What is rolled back leaves no trace, so its conflicts with rows that the caller cannot see are limited. */
export async function limitConflicts<T>(ctx: WriteCtx, run: () => Promise<T>): Promise<T> {
  const { previewConflicts, caller } = ctx;
  if (!(await canMeetHiddenRows(ctx))) return run();
  previewConflicts.require(caller.userId, conflictsPerMinuteMax);
  try {
    return await run();
  } catch (error) {
    if (isConflict(error)) previewConflicts.add(caller.userId);
    throw error;
  }
}

function isConflict(error: unknown): boolean {
  if (!(error instanceof Failure)) return ['23505', '23503', '23001'].includes(errorCode(error) ?? '');
  const { code, errors = [] } = error;
  return (
    code === 'unique_violation' ||
    code === 'row_in_use' ||
    errors.some((item) => item.code === 'reference_violation')
  );
}

export function countPreviewConflict(ctx: WriteCtx): void {
  if (canHaveHiddenRows(ctx)) ctx.previewConflicts.add(ctx.caller.userId);
}

/** In the tables, in those that they refer to, or in those whose rows keep theirs from being deleted. */
async function canMeetHiddenRows(ctx: WriteCtx): Promise<boolean> {
  if (canHaveHiddenRows(ctx)) return true;
  const seen = new Set<string>();
  const isHidden = async (tableId: string): Promise<boolean> => {
    const found = await ctx.openRelated(tableId);
    return !found || !isWhole(found.table) || hasHiddenReferrer(found.table);
  };
  const hasHiddenReferrer = async ({ catalogue }: WrittenTable): Promise<boolean> => {
    if (seen.has(catalogue.id)) return false;
    seen.add(catalogue.id);
    for (const { tableId, onDelete } of catalogue.referencedBy ?? [])
      if (onDelete !== 'set_null' && (await isHidden(tableId))) return true;
    return false;
  };
  for (const table of tablesOf(ctx)) {
    // No references are known of tables of connectors, which may have some.
    if (table.catalogue.foreign || (await hasHiddenReferrer(table))) return true;
    for (const { ref } of table.catalogue.columns) if (ref && (await isHidden(ref.tableId))) return true;
  }
  return false;
}

function canHaveHiddenRows(ctx: WriteCtx): boolean {
  return !tablesOf(ctx).every(isWhole);
}

export function ifPlanHeader(request: FastPathRequest): string | null {
  return request.headers.get('if-plan')?.replace(/^"|"$/g, '') ?? null;
}

async function executeIfUnchanged(
  ctx: WriteCtx,
  tx: Transaction,
  fingerprint: string,
  work: WriteWork,
): Promise<FastPathResponse> {
  try {
    await tx.query('savepoint previewed', []);
    await setPreviewed(ctx, tx);
    const { plan } = JSON.parse(bodyText((await work(tx, 'preview')).body));
    await tx.query('rollback to savepoint previewed', []);
    if (plan.fingerprint !== fingerprint) throw fail('plan_stale');
    return await work(tx, 'execute');
  } catch (error) {
    if (sqlState(error) === '40001') throw fail('plan_stale', {}, { cause: error });
    throw error;
  }
}

function bodyText(body: FastPathResponse['body']): string {
  if (body === null || body instanceof ReadableStream) return '';
  return typeof body === 'string' ? body : Buffer.from(body).toString('utf8');
}

export function previewResponse(
  ctx: RowsCtx,
  operation: { id: string; irreversible: boolean },
  { id, before, after }: PreviewedChange,
  warnings: readonly string[] = [],
) {
  const target = { kind: 'row', id, name: `${ctx.app.slug}/${ctx.table.catalogue.name}` };
  return planResponse(operation, [{ action: operation.id, target, before, after }], warnings);
}

export interface RowWritten {
  response: FastPathResponse;
  previewed: PreviewedChange | null;
}

export type PreviewedChange = Pick<AuditedChange, 'before' | 'after'> & { id: string };

export function planResponse(
  operation: { id: string; irreversible: boolean },
  changes: readonly AuditedChange[],
  warnings: readonly string[] = [],
) {
  const plan = makePlan(operation, changes, warnings, { ids: new Set(), now: new Date(0) });
  return jsonResponse(200, JSON.stringify({ dry_run: true, plan }));
}

interface Cascade {
  table: AffectedTable['table'];
  actions: Set<DeleteAction>;
  deleted: number;
  cleared: number;
}

/** What happens to rows that refer to deleted ones, for the plan. `deletedOf`: the number of rows that the work itself deletes. */
export function createCascades(tx: Pick<Transaction, 'query'>) {
  const byTable = new Map<string, AffectedTable[]>();
  const cascades = new Map<string, Cascade>();
  /** Not on Citus, whose workers count for themselves, nor where the database does not count. */
  let isCounted = true;

  function add({ table, onDelete }: AffectedTable, deleted: number, cleared: number): void {
    const { id } = table.catalogue;
    const found = cascades.get(id) ?? { table, actions: new Set(), deleted: 0, cleared: 0 };
    found.actions.add(onDelete);
    found.deleted += deleted;
    found.cleared += cleared;
    cascades.set(id, found);
  }

  return {
    async count<T>(ctx: RowsCtx, work: () => Promise<T>, deletedOf: (result: T) => number): Promise<T> {
      const { id } = ctx.table.catalogue;
      const affected = byTable.get(id) ?? (cascadesToOthers(ctx.table) ? await listAffectedTables(ctx) : []);
      byTable.set(id, affected);
      if (affected.length === 0) return work();
      const counted = [ctx, ...affected].map(({ table }) => table);
      const before = await countChanges(tx, counted);
      const result = await work();
      const after = await countChanges(tx, counted);
      const changes = after.map(([deleted, updated], at) => {
        const [deletedBefore = 0, updatedBefore = 0] = before[at] ?? [];
        return { deleted: deleted - deletedBefore, updated: updated - updatedBefore };
      });
      const own = deletedOf(result);
      if (own === 0) return result;
      if ((changes[0]?.deleted ?? 0) < own) isCounted = false;
      for (const [at, each] of affected.entries()) {
        const { deleted, updated } = changes[at + 1] ?? { deleted: 0, updated: 0 };
        add(each, deleted - (each.table.catalogue.id === id ? own : 0), updated);
      }
      return result;
    },
    warnings: () => [...cascades.values()].flatMap((cascade) => cascadeWarnings(cascade, isCounted)),
  };
}

function cascadeWarnings({ table, actions, deleted, cleared }: Cascade, isCounted: boolean): string[] {
  const { name } = table.catalogue;
  // A number, or none, would reveal rows that the caller does not see.
  if (!isCounted || !isWhole(table))
    return [
      ...(actions.has('cascade') ? [`Rows of ${name} that refer to deleted rows are deleted as well.`] : []),
      ...(actions.has('set_null') ? [`References of ${name} to deleted rows are cleared.`] : []),
    ];
  return [
    ...(deleted > 0 ? [`Deletes ${rowsText(deleted)} of ${name} as well.`] : []),
    ...(cleared > 0 ? [`Clears the references of ${rowsText(cleared)} of ${name}.`] : []),
  ];
}

const rowsText = (count: number) => (count === 1 ? '1 row' : `${count} rows`);

interface AffectedTable {
  table: Pick<RowsCtx['table'], 'view' | 'catalogue'>;
  onDelete: DeleteAction;
}

/** The tables with rows that refer to deleted ones, directly or by others, as far as the caller knows of them. */
async function listAffectedTables({ table, openRelated }: RowsCtx): Promise<AffectedTable[]> {
  const found = new Map<string, AffectedTable>();
  const follow = async ({ catalogue: { referencedBy = [] } }: AffectedTable['table']): Promise<void> => {
    for (const { tableId, column, onDelete } of referencedBy) {
      if (onDelete === 'restrict' || found.get(tableId)?.onDelete === 'cascade') continue;
      const opened = await openRelated(tableId);
      if (!opened?.table.byName.has(column)) continue;
      found.set(tableId, { table: opened.table, onDelete });
      if (onDelete === 'cascade') await follow(opened.table);
    }
  };
  await follow(table);
  return [...found.values()];
}

async function countChanges(
  tx: Pick<Transaction, 'query'>,
  tables: readonly AffectedTable['table'][],
): Promise<(readonly [deleted: number, updated: number])[]> {
  const counters = tables.map(({ catalogue }) => {
    const name = `'${escapeIdentifier(catalogue.schema)}.${escapeIdentifier(catalogue.table)}'::regclass`;
    return `(pg_stat_get_xact_tuples_deleted(${name}), pg_stat_get_xact_tuples_updated(${name}))`;
  });
  const { rows } = await tx.query(`values ${counters.join(', ')}`, []);
  return rows.map(([deleted, updated]) => [Number(deleted), Number(updated)] as const);
}

export function requireAction(
  { access, app, isReadOnly, refusal }: Pick<TableAccess, 'access' | 'app' | 'isReadOnly' | 'refusal'>,
  action: RowAction | undefined,
): void {
  const isRead = action === 'read' || action === 'export';
  // Not 404: callers with some access may know that the table exists.
  if (!action) throw fail('forbidden');
  if (!access.actions.has(action))
    throw isReadOnly && !isRead ? fail('connector_read_only') : (refusal?.(action) ?? fail('forbidden'));
  if (!isRead && app.record === 'archived') throw fail('app_not_active');
}

/** Whether ids mean something to the caller: they see them, or know only those that they inserted. */
export function isAddressable({ table, access }: RowsCtx): boolean {
  return table.key.name !== '' || !access.actions.has('read');
}

export const refusedRowError = () =>
  fail('forbidden', { detail: 'The rules of the table do not allow this row.' });

export function presentColumns({ table }: RowsCtx, input: RowInput): string[] {
  return table.catalogue.columns.flatMap(({ name }, at) => (input[at] === undefined ? [] : [name]));
}

/** The conditions for a new row with these columns that are not checked yet. */
export function insertCheck(
  { access, table, caller }: RowsCtx,
  columns: readonly string[],
): PlannedCondition {
  const check = changeable(access, 'insert', columns);
  const isOwnRow =
    access.insertsOwn &&
    check.kind === 'test' &&
    check.op === 'eq' &&
    !check.negated &&
    check.column === table.catalogue.owner &&
    check.value === caller.userId;
  return isOwnRow ? always : check;
}
