import { rowBytesMax } from '@svc/contract/rows.ts';
import type { DirectAnswer } from '../plumbing/direct.ts';
import { fail } from '../plumbing/problem.ts';
import type { RowsCtx } from './context.ts';
import { demandedVersions } from './etag.ts';
import { type GivenRow, oneRow, parsedRow, type Run, write } from './given-row.ts';
import { ifPlanOf, inTransaction } from './in-transaction.ts';
import type { PlannedCondition } from './plan.ts';
import { previewAnswer } from './preview.ts';
import { oneSql, type Statement } from './sql.ts';

export interface RowChange {
  id: string;
  /** Which row it is, and that the caller may see it. */
  row: readonly PlannedCondition[];
  dryRun: boolean;
  /** Whether the row could become longer than a row may be. */
  grows?: boolean;
  operation: { id: string; irreversible: boolean };
  /** Bound to a version of the row, or to none; gives back every column. */
  statement(version: string | null): Statement;
  answer(changed: GivenRow): DirectAnswer;
}

/** An update or a delete of one row: by itself where nothing more is asked, else in a transaction. */
export async function changeRow(ctx: RowsCtx, change: RowChange): Promise<DirectAnswer> {
  if (!change.dryRun && !change.grows && ifPlanOf(ctx.request) === null) {
    return change.answer(await changed(ctx, change, write(ctx)));
  }
  return inTransaction(ctx, { dryRun: change.dryRun, key: null, bodyHash: () => '' }, async (tx, mode) => {
    if (mode === 'execute') {
      const given = await changed(ctx, change, tx.query);
      if (change.grows && given.json.length > storedBytesMax) throw fail('payload_too_large');
      return change.answer(given);
    }
    const { all } = ctx.table;
    const before = await oneRow(tx.query, oneSql(ctx.table, all, change.row), all, 1);
    const after = await changed(ctx, change, tx.query);
    return previewAnswer(ctx, change.operation, {
      id: change.id,
      before: shown(ctx, before),
      after: change.operation.irreversible ? null : shown(ctx, after),
    });
  });
}

/** Shown, a row may be longer than it was sent: spaces in JSON, escapes in texts. */
const storedBytesMax = 2 * rowBytesMax;

/** The row after the change; where there is none, why. */
async function changed(ctx: RowsCtx, change: RowChange, run: Run): Promise<GivenRow> {
  const { all } = ctx.table;
  const versions = demandedVersions(ctx.request.headers.get('if-match'));
  for (const version of versions ?? [null]) {
    const given = await oneRow(run, change.statement(version), all, 2);
    if (given) return given;
  }
  if (versions === null) throw fail('not_found');
  const there = await oneRow(run, oneSql(ctx.table, all, change.row), all, 1);
  throw fail(there ? 'precondition_failed' : 'not_found');
}

/** When a row was last changed is different in every run, and no news. Who may not read is shown nothing. */
function shown(ctx: RowsCtx, given: GivenRow | null): Record<string, unknown> {
  if (!ctx.access.read) return {};
  const row = parsedRow(given);
  for (const { role, name } of ctx.table.catalogue.columns) if (role === 'updated_at') delete row[name];
  return row;
}
