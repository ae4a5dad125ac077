import type { Result } from '../command.ts';
import type { Ctx } from '../context.ts';
import { plain } from '../output.ts';
import { type Approval, codePlace, issueCode, resumeApproval, waitForApproval } from './approval.ts';
import type { Resume } from './approval-flags.ts';
import { pendingResult } from './show-code.ts';

/** Begins, or goes on. Where somebody looks on it waits; otherwise the code is kept, and exits with 11. */
export async function linkAccount(ctx: Ctx, { resume }: { resume: Resume | null }): Promise<Result> {
  const place = await codePlace(ctx);
  if (resume !== null) {
    const approval = await resumeApproval(ctx, place, resume, 'link');
    return approval.status === 'linked' ? linkedResult(approval) : pendingResult(ctx, approval.code);
  }
  const { kept, device_code } = await issueCode(ctx, place, 'link');
  if (!(await ctx.io.isTerminal('stderr'))) return pendingResult(ctx, kept, { device_code });
  return linkedResult(await waitForApproval(ctx, place, kept, null));
}

export function linkedResult({ account }: Approval & { status: 'linked' }): Result {
  return {
    value: { status: 'linked', account },
    text: () =>
      account === null
        ? 'Your account at the git host is linked.\n'
        : `Your account ${plain(account.login)} at ${plain(account.host)} is linked.\n`,
  };
}
