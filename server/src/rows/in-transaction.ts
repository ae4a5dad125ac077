import type { Transaction } from '../drivers/row-database/row-database.ts';
import { sha256 } from '../plumbing/canonical.ts';
import { sqlState } from '../plumbing/database-errors.ts';
import type { DirectAnswer } from '../plumbing/direct.ts';
import { fail } from '../plumbing/problem.ts';
import type { RowsCtx } from './context.ts';
import { once } from './once.ts';

export type WriteMode = 'preview' | 'execute';
export type Work = (tx: Transaction, mode: WriteMode) => Promise<DirectAnswer>;

/** A write that is previewed (and undone), bound to a preview (If-Plan), or to a key (and done once). */
export function inTransaction(
  ctx: RowsCtx,
  options: { dryRun: boolean; key: string | null; bodyHash: () => string },
  work: Work,
): Promise<DirectAnswer> {
  return ctx.rowDb.transaction(async (tx) => {
    if (options.dryRun) return { end: 'rollback', value: await work(tx, 'preview') };
    const plan = ifPlanOf(ctx.request);
    // Preview and execution see one picture of the rows, chosen before the key is looked up, which reads already.
    if (plan !== null) await tx.query('set transaction isolation level repeatable read', []);
    const execute = plan === null ? () => work(tx, 'execute') : () => asPlanned(tx, plan, work);
    if (options.key === null) return { end: 'commit', value: await execute() };
    const request = {
      callerId: ctx.caller.userId,
      key: options.key,
      requestHash: sha256(
        `${ctx.request.method} ${ctx.path}?${ctx.search}\n${ctx.request.headers.get('prefer') ?? ''}\n${options.bodyHash()}`,
      ),
    };
    const answer = await once(tx, request, async () => {
      const { status, headers, body } = await execute();
      return { status, headers, body: textOf(body) };
    });
    return { end: 'commit', value: { ...answer, body: answer.body === '' ? null : answer.body } };
  });
}

export function ifPlanOf(request: Request): string | null {
  return request.headers.get('if-plan')?.replace(/^"|"$/g, '') ?? null;
}

/** What another changes in between makes the plan stale. */
async function asPlanned(tx: Transaction, fingerprint: string, work: Work): Promise<DirectAnswer> {
  try {
    await tx.query('savepoint previewed', []);
    const { plan } = JSON.parse(textOf((await work(tx, 'preview')).body));
    await tx.query('rollback to savepoint previewed', []);
    if (plan.fingerprint !== fingerprint) throw fail('plan_stale');
    return await work(tx, 'execute');
  } catch (error) {
    if (sqlState(error) === '40001') throw fail('plan_stale', {}, { cause: error });
    throw error;
  }
}

/** Answers of writes are short and at hand whole. */
function textOf(body: DirectAnswer['body']): string {
  if (body === null || body instanceof ReadableStream) return '';
  return typeof body === 'string' ? body : Buffer.from(body).toString('utf8');
}
