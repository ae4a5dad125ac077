import { rowSegment } from '@svc/contract/row-path.ts';
import { rowBytesMax } from '@svc/contract/rows.ts';
import { sha256 } from '../plumbing/canonical.ts';
import { assignedOnExecution, timeOfExecution } from '../plumbing/plan.ts';
import { fail } from '../plumbing/problem.ts';
import { emptyAnswer, jsonAnswer, type RowsCtx } from './context.ts';
import { rowEtag } from './etag.ts';
import { type GivenRow, oneRow, parsedRow, write } from './given-row.ts';
import { ifPlanOf, inTransaction } from './in-transaction.ts';
import { previewAnswer } from './preview.ts';
import {
  fillIn,
  isErrors,
  newVersion,
  nextNumberSql,
  numberToPass,
  passNumberSql,
  readObject,
  refused,
  type SentRow,
} from './read-row.ts';
import { outputOf } from './row-table.ts';
import { insertSql } from './sql.ts';
import { preferencesOf } from './write-options.ts';

export async function insertRow(
  ctx: RowsCtx,
  body: string,
  options: { dryRun: boolean; key: string | null },
) {
  if (Buffer.byteLength(body) > rowBytesMax) throw fail('payload_too_large');
  const sent = readObject(ctx.table, body, 0, body.length);
  if (isErrors(sent)) throw refused(sent);
  const filled = fillIn(ctx.table, sent, {
    userId: ctx.caller.userId,
    access: ctx.access,
    now: { sql: 'now()' },
    nextNumber: () => ({ sql: nextNumberSql(ctx.table) }),
  });
  if (isErrors(filled)) throw refused(filled);
  // Whoever may write only is not shown what the database made of it.
  const minimal = preferencesOf(ctx.request).returns === 'minimal' || !ctx.access.read;
  const isPlain = !options.dryRun && options.key === null && ifPlanOf(ctx.request) === null;
  const output = minimal && isPlain ? outputOf([]) : ctx.table.all;
  const statement = insertSql(
    ctx.table,
    ctx.table.catalogue.columns.map((column, at) => ({ column, value: filled[at] ?? null })),
    newVersion(),
    output,
  );
  const idAt = ctx.table.catalogue.columns.indexOf(ctx.table.catalogue.idColumn);
  const number = numberToPass(ctx.table, [sent[idAt]]);
  if (isPlain) {
    const row = await oneRow(write(ctx), statement, output, 2);
    if (number !== null) await ctx.rowDb.run('write', passNumberSql(ctx.table), [number]);
    return answerOf(ctx, row, minimal);
  }
  return inTransaction(ctx, { ...options, bodyHash: () => sha256(body) }, async (tx, mode) => {
    const row = await oneRow(tx.query, statement, output, 2);
    if (number !== null && mode === 'execute') await tx.query(passNumberSql(ctx.table), [number]);
    return mode === 'preview' ? preview(ctx, sent, row) : answerOf(ctx, row, minimal);
  });
}

function answerOf(ctx: RowsCtx, row: GivenRow | null, minimal: boolean) {
  const [id, version] = row?.rest ?? [];
  if (!row || !id || !version) throw new Error('An insert gave no row back.');
  const headers = {
    location: `${ctx.path}/${rowSegment(id)}`,
    etag: rowEtag(ctx.table, version),
  };
  return minimal ? emptyAnswer(201, headers) : jsonAnswer(201, row.json, headers);
}

/** Values that another run makes up anew are told as such, so that equal previews have equal fingerprints. */
function preview(ctx: RowsCtx, sent: SentRow, row: GivenRow | null) {
  const after = parsedRow(row);
  for (const [at, column] of ctx.table.catalogue.columns.entries()) {
    if (sent[at] !== undefined || !column.default) continue;
    if (column.default.kind === 'now') after[column.name] = timeOfExecution;
    else if (column.default.kind !== 'literal') after[column.name] = assignedOnExecution;
  }
  for (const { role, name } of ctx.table.catalogue.columns) {
    if (role === 'created_at' || role === 'updated_at') after[name] = timeOfExecution;
  }
  return previewAnswer(ctx, { id: 'rows.insert', irreversible: false }, { id: '', before: null, after });
}
