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
import { isWhole } from './row-table.ts';
import type { TableAccess } from './table-access.ts';

export type WriteMode = 'preview' | 'execute';
type WriteWork = (tx: Transaction, mode: WriteMode) => Promise<FastPathResponse>;

type WrittenTable = Pick<RowsCtx['table'], 'view' | 'catalogue'>;
type WriteCtx = Pick<
  RowsCtx,
  'caller' | 'rowDb' | 'request' | 'path' | 'search' | 'requestId' | 'previewConflicts'
> &
  ({ table: WrittenTable } | { tables: readonly WrittenTable[] });

const tablesOf = (ctx: WriteCtx) => ('tables' in ctx ? ctx.tables : [ctx.table]);

export function runWrite(
  ctx: WriteCtx,
  options: { dryRun: boolean; key: string | null; bodyHash: () => string },
  work: WriteWork,
): Promise<FastPathResponse> {
  if (options.dryRun) return retryDeadlock(() => preview(ctx, work));
  return retryDeadlock(() => execute(ctx, options, work));
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
export const reachesOthers = ({ catalogue }: Pick<WrittenTable, 'catalogue'>) =>
  (catalogue.referencedBy ?? []).some(({ onDelete }) => onDelete !== 'restrict');

/** Whether a deleted row cannot be restored, or not with all that was deleted or emptied by references to it. */
export const losesDeleted = (table: Pick<WrittenTable, 'catalogue'>) =>
  table.catalogue.softDeleteDays == null || reachesOthers(table);

async function setCause(ctx: WriteCtx, tx: Transaction): Promise<void> {
  if (!tablesOf(ctx).some((table) => hasCause(table) || reachesOthers(table))) return;
  const cause = `${ctx.caller.userId} ${ctx.requestId}`;
  await tx.query(`select set_config('${causeSetting}', $1, true)`, [cause]);
}

/** Until the end of the transaction, or of the savepoint before it. */
async function setPreviewed(ctx: WriteCtx, tx: Transaction): Promise<void> {
  const isLogged = tablesOf(ctx).some(
    (table) => table.catalogue.changes || hasCause(table) || reachesOthers(table),
  );
  if (isLogged) await tx.query(`select set_config('${causeSetting}', $1, true)`, [previewCause]);
}

const previewConflictsPerMinuteMax = 20;

/** A preview leaves no trace, so its conflicts with rows that the caller cannot see are limited. */
async function preview(ctx: WriteCtx, work: WriteWork): Promise<FastPathResponse> {
  if (canHaveHiddenRows(ctx)) ctx.previewConflicts.require(ctx.caller.userId, previewConflictsPerMinuteMax);
  try {
    return await ctx.rowDb.transaction(async (tx) => {
      await setPreviewed(ctx, tx);
      return { end: 'rollback', value: await work(tx, 'preview') };
    });
  } catch (error) {
    const isConflict =
      error instanceof Failure ? error.code === 'unique_violation' : sqlState(error) === '23505';
    if (isConflict) countPreviewConflict(ctx);
    throw error;
  }
}

export function countPreviewConflict(ctx: WriteCtx): void {
  if (canHaveHiddenRows(ctx)) ctx.previewConflicts.add(ctx.caller.userId);
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
) {
  const target = { kind: 'row', id, name: `${ctx.app.slug}/${ctx.table.catalogue.name}` };
  return planResponse(operation, [{ action: operation.id, target, before, after }]);
}

/** One row of a transaction over several; the change only in a preview. */
export interface RowWritten {
  response: FastPathResponse;
  previewed: PreviewedChange | null;
}

export type PreviewedChange = Pick<AuditedChange, 'before' | 'after'> & { id: string };

export function planResponse(
  operation: { id: string; irreversible: boolean },
  changes: readonly AuditedChange[],
) {
  const plan = makePlan(operation, changes, [], { ids: new Set(), now: new Date(0) });
  return jsonResponse(200, JSON.stringify({ dry_run: true, plan }));
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

export const refusedRow = () =>
  fail('forbidden', { detail: 'The rules of the table do not allow this row.' });

export function presentColumns({ table }: RowsCtx, input: RowInput): string[] {
  return table.catalogue.columns.flatMap(({ name }, at) => (input[at] === undefined ? [] : [name]));
}

/** What a new row with these columns must meet, beyond what was checked already. */
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
