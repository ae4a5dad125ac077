import { deploymentEndStates, getDeployment, listDeployments } from '@svc/contract/deployments.ts';
import type { Result } from '../command.ts';
import type { Ctx } from '../context.ts';
import { CliError } from '../errors.ts';
import { plain, styleOf } from '../output.ts';
import { passes } from '../passes.ts';
import { deploymentView } from '../views/deployment.ts';
import { pause } from '../waiting.ts';
import { type DeploymentRecord, deploymentEnding } from './deployment-ending.ts';
import { lineText } from './line-text.ts';
import { type Line, logLines } from './log-lines.ts';

const pollMs = 500;
const lastLinesMax = 20;

export interface Followed {
  tenantID: string;
  app: string;
  begun: DeploymentRecord;
  /** `shown`: as it comes, on standard error. `unseen`: who waits may not read it. */
  log: 'shown' | 'unseen';
}

/** Waits until a deployment has ended; it goes on by itself whatever ends the wait. */
export async function followDeployment(ctx: Ctx, followed: Followed): Promise<Result> {
  const { app, begun } = followed;
  const seen: Line[] = [];
  try {
    if (followed.log === 'shown') await showWhileItComes(ctx, followed, seen);
    const ended = await endOf(ctx, followed);
    const before = ended.state === 'failed' && (await isLiveStill(ctx, followed)) ? 'live' : 'unknown';
    const { note, ...ending } = deploymentEnding(ended, { app, before });
    if (ending.failed !== undefined && ctx.globals.quiet) await sayLast(ctx, seen);
    if (note !== null) ctx.note(note);
    return { value: ended, view: deploymentView, ...ending };
  } catch (cause) {
    if (!(cause instanceof CliError) || !ctx.signal.aborted) throw cause;
    const name = `Deployment #${begun.seq}`;
    const look = `svc deployments logs ${begun.id} --app ${plain(app)} --follow`;
    if (cause.code === 'interrupted')
      throw new CliError('interrupted', `Interrupted. ${name} goes on at the server.`, {
        next: `Follow it with ${look}, or stop it with svc deployments cancel ${begun.id} --app ${plain(app)} --execute`,
        cause,
      });
    const late = `${name} did not end within ${ctx.globals.timeoutMs / 1000}s; it goes on.`;
    const failed = new CliError('wait_timeout', late, { next: `Follow it with ${look}`, cause });
    return { value: begun, view: deploymentView, failed };
  }
}

async function showWhileItComes(ctx: Ctx, { tenantID, app, begun }: Followed, seen: Line[]): Promise<void> {
  const style = { ...(await styleOf(ctx.io)), colour: false };
  const place = { log: 'build', tenantID, app, deployment: begun.id } as const;
  for await (const lines of logLines(ctx, place, { tail: undefined, until: 'ended' })) {
    for (const line of lines) ctx.say(lineText(line, style).trimEnd());
    seen.push(...lines);
    seen.splice(0, Math.max(0, seen.length - lastLinesMax));
  }
}

async function endOf(ctx: Ctx, { tenantID, app, begun, log }: Followed): Promise<DeploymentRecord> {
  const client = await ctx.client();
  const params = { tenantID, app, deployment: begun.id };
  for (;;) {
    const now = await client
      .call(getDeployment, { params }, { signal: ctx.signal })
      .catch((cause: unknown) => {
        if (ctx.signal.aborted) throw ctx.signal.reason;
        if (!passes(cause)) throw cause;
        return null;
      });
    // A log that has ended is that of a deployment that has.
    if (now !== null && (log === 'shown' || isAtEnd(now))) return now;
    await pause(ctx, pollMs);
  }
}

/** Whether visitors still have what they had; where that can not be asked, nothing is said of it. */
async function isLiveStill(ctx: Ctx, { tenantID, app, begun }: Followed): Promise<boolean> {
  if (begun.kind === 'resume') return false;
  const client = await ctx.client();
  const input = { params: { tenantID, app }, query: { state: 'live' as const, per_page: 1 } };
  return client.call(listDeployments, input, { signal: ctx.signal }).then(
    ({ items }) => items.length > 0,
    () => false,
  );
}

function isAtEnd({ state, ended_at }: DeploymentRecord): boolean {
  return ended_at !== null || (deploymentEndStates as readonly string[]).includes(state);
}

/** Who wanted no talk sees why it failed all the same. */
async function sayLast(ctx: Ctx, lines: readonly Line[]): Promise<void> {
  const style = { ...(await styleOf(ctx.io)), colour: false };
  for (const line of lines) ctx.io.err(lineText(line, style));
}
