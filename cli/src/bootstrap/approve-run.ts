import type { Ctx } from '../context.ts';
import { codePlace, type IssuedCode, keepIssued, waitForApproval } from '../git-host/approval.ts';
import { resumeLine } from '../git-host/show-code.ts';
import type { RunRecord, StartedRun } from './run-record.ts';
import { readRun } from './watch-run.ts';

/** Of a run that waits for its maker's account: where somebody looks on it is waited for; `null`: it is left to them. */
export async function approveRun(
  ctx: Ctx,
  { approval, ...run }: StartedRun & { approval: IssuedCode },
): Promise<RunRecord | null> {
  const place = await codePlace(ctx);
  const code = await keepIssued(ctx, place, approval, { purpose: 'bootstrap', runId: run.id });
  if (!(await ctx.io.isTerminal('stderr'))) {
    ctx.say(`When it is approved: ${resumeLine(ctx, code)}`);
    return null;
  }
  await waitForApproval(ctx, place, code, null);
  return readRun(ctx, { tenantID: place.tenant, run: run.id });
}
