import { ProblemError } from '@svc/contract/client.ts';
import { getDomain, verifyDomain } from '@svc/contract/domains.ts';
import type { Result } from '../command.ts';
import type { Ctx } from '../context.ts';
import { CliError } from '../errors.ts';
import { resolveTenant } from '../tenant.ts';
import { pause, waiting } from '../waiting.ts';
import { type DomainRecord, domainText } from './domain-text.ts';

const firstPauseMs = 1_000;
const pauseGrowth = 1.5;
const pauseMsMax = 10_000;

/** Has the records looked up now, or again and again until that leads somewhere. */
export async function verifyShown(
  ctx: Ctx,
  { app, domain, until }: { app: string; domain: string; until: 'answered' | 'settled' },
): Promise<Result> {
  if (until === 'answered') {
    const params = { tenantID: await resolveTenant(ctx), app, domain };
    const found = await (await ctx.client()).call(verifyDomain, { params }, { signal: ctx.signal });
    if (found.status === 'pending')
      ctx.note('It is looked at again by itself; --wait waits until it is active.');
    return shown(found);
  }
  // The very first question may be the one that is never answered: that is a wait that ran out, too.
  return waiting(ctx, 'Being active', async () => {
    const params = { tenantID: await resolveTenant(ctx), app, domain };
    return waitUntilSettled(ctx, params);
  });
}

async function waitUntilSettled(
  ctx: Ctx,
  params: { tenantID: string; app: string; domain: string },
): Promise<Result> {
  const client = await ctx.client();
  const verify = () => client.call(verifyDomain, { params }, { signal: ctx.signal });
  let last = await firstAnswer(ctx, verify);
  try {
    let told = '';
    for (let ms = firstPauseMs; last.status === 'pending'; ms = longer(ms)) {
      const now = waitingFor(last);
      if (now !== told) ctx.say(`Waiting for ${now}.`);
      told = now;
      await pause(ctx, ms);
      // Asked first how it stands: to verify what was disconnected meanwhile would begin anew.
      last = await unlessPassing(ctx, last, () => client.call(getDomain, { params }, { signal: ctx.signal }));
      if (last.status === 'pending') last = await unlessPassing(ctx, last, verify);
    }
  } catch (cause) {
    if (!(cause instanceof CliError) || cause.code !== 'timeout') throw cause;
    const detail = `It was not active within ${ctx.globals.timeoutMs / 1000}s; it is looked at again by itself.`;
    const next = 'Run the command again, with a longer --timeout if needed.';
    return { ...shown(last), failed: new CliError('wait_timeout', detail, { next, cause }) };
  }
  if (last.status === 'active') return shown(last);
  const why = last.disconnected_for === null ? '' : `: ${last.disconnected_for}`;
  const failed = new CliError('disconnected', `${last.host_unicode} is disconnected${why}.`, {
    next: `Put right what is named, then svc apps domains verify ${params.domain} --app ${params.app} begins anew.`,
  });
  return { ...shown(last), failed };
}

/** A server that is busy answers later; without one there is nothing to wait for. */
async function firstAnswer(ctx: Ctx, ask: () => Promise<DomainRecord>): Promise<DomainRecord> {
  for (let ms = firstPauseMs; ; ms = longer(ms)) {
    try {
      return await ask();
    } catch (cause) {
      if (!isBusy(cause)) throw cause;
      await pause(ctx, Math.max(ms, (cause.retryAfterSeconds ?? 0) * 1000));
    }
  }
}

/** A fault that may be over in a moment does not end a wait; its time limit does. */
async function unlessPassing(
  ctx: Ctx,
  last: DomainRecord,
  ask: () => Promise<DomainRecord>,
): Promise<DomainRecord> {
  try {
    return await ask();
  } catch (cause) {
    if (!isBusy(cause) && !(cause instanceof CliError && cause.code === 'no_connection')) throw cause;
    if (cause instanceof ProblemError) await pause(ctx, (cause.retryAfterSeconds ?? 0) * 1000);
    return last;
  }
}

function isBusy(cause: unknown): cause is ProblemError {
  return cause instanceof ProblemError && (cause.problem.status >= 500 || cause.problem.status === 429);
}

function longer(ms: number): number {
  return Math.min(pauseMsMax, ms * pauseGrowth);
}

function waitingFor(domain: DomainRecord): string {
  const open = (['ownership', 'routing', 'certificate'] as const).filter((it) => domain[it].state !== 'ok');
  return open.map((it) => `${it} (${domain[it].reason ?? domain[it].state})`).join(', ') || 'the server';
}

function shown(domain: DomainRecord): Result {
  return { value: domain, text: (style) => domainText(domain, style) };
}
