import type { Result } from '../command.ts';
import type { Ctx } from '../context.ts';
import { codePlace, type IssuedCode, keepIssued, waitForApproval } from '../git-host/approval.ts';
import { resumeLine } from '../git-host/show-code.ts';
import type { RunRecord, StartedRun } from './run-record.ts';
import { readRun } from './watch-run.ts';

/** `waits`: it is left to its maker, and how that is shown. */
export type ApprovedRun = { run: RunRecord } | { waits: Pick<Result, 'text' | 'exit'> };

/** Of a run that waits for its maker's account: where somebody looks on it is waited for. */
export async function approveRun(
  ctx: Ctx,
  { approval, ...run }: StartedRun & { approval: IssuedCode },
): Promise<ApprovedRun> {
  const place = await codePlace(ctx);
  const code = await keepIssued(ctx, place, approval, { purpose: 'bootstrap', runId: run.id });
  if (!(await ctx.io.isTerminal('stderr'))) {
    const goOn = `When it is approved: ${resumeLine(ctx, code)}`;
    // People find it beside the id; what was printed for programs holds the code, which --device-code takes.
    if (ctx.globals.format !== 'table') ctx.say(goOn);
    const text = `Run ${run.id} waits for your approval at the git host.\n${goOn}\n`;
    return { waits: { text: () => text, exit: 11 } };
  }
  await waitForApproval(ctx, place, code, null);
  return { run: await readRun(ctx, { tenantID: place.tenant, run: run.id }) };
}
