import { ProblemError } from '@svc/contract/client.ts';
import { getDomain, verifyDomain } from '@svc/contract/domains.ts';
import type { Result } from '../command.ts';
import type { Ctx } from '../context.ts';
import { CliError } from '../framework/errors.ts';
import { resolveTenant } from '../session/tenant.ts';
import { pause, withWaitTimeout } from '../session/waiting.ts';
import { type DomainRecord, domainText } from './domain-text.ts';

const firstPauseMs = 1_000;
const pauseGrowth = 1.5;
const pauseMsMax = 10_000;

export async function checkDomain(
  ctx: Ctx,
  { app, domain, until }: { app: string; domain: string; until: 'checked-once' | 'decided' },
): Promise<Result> {
  if (until === 'checked-once') {
    const params = { tenantID: await resolveTenant(ctx), app, domain };
    const found = await (await ctx.client()).call(verifyDomain, { params });
    if (found.status === 'pending')
      ctx.note('Checks continue in the background; --wait waits until the domain is active.');
    return domainResult(found);
  }
  return withWaitTimeout(ctx, 'The verification', async () => {
    const params = { tenantID: await resolveTenant(ctx), app, domain };
    return waitUntilActive(ctx, params);
  });
}

async function waitUntilActive(
  ctx: Ctx,
  params: { tenantID: string; app: string; domain: string },
): Promise<Result> {
  const client = await ctx.client();
  const verify = () => client.call(verifyDomain, { params });
  let last = await firstAnswer(ctx, verify);
  try {
    let reported = '';
    for (let ms = firstPauseMs; last.status === 'pending'; ms = nextPause(ms)) {
      const now = pendingChecks(last);
      if (now !== reported) ctx.say(`Waiting for ${now}.`);
      reported = now;
      await pause(ctx, ms);
      // Reads the status first: verifying a disconnected domain would restart it.
      last = await ignoreTransient(ctx, last, () => client.call(getDomain, { params }));
      if (last.status === 'pending') last = await ignoreTransient(ctx, last, verify);
    }
  } catch (cause) {
    if (!(cause instanceof CliError) || cause.code !== 'timeout') throw cause;
    const detail = `Not active after ${ctx.globals.timeoutMs / 1000}s. Checks continue in the background.`;
    const next = 'Run the command again, with a longer --timeout if needed.';
    return { ...domainResult(last), failed: new CliError('wait_timeout', detail, { next, cause }) };
  }
  if (last.status === 'active') return domainResult(last);
  const why = last.disconnected_for === null ? '' : `: ${last.disconnected_for}`;
  const failed = new CliError('disconnected', `${last.host_unicode} is disconnected${why}.`, {
    next: `Fix the named records, then run svc apps domains verify ${params.domain} --app ${params.app}`,
  });
  return { ...domainResult(last), failed };
}

async function firstAnswer(ctx: Ctx, ask: () => Promise<DomainRecord>): Promise<DomainRecord> {
  for (let ms = firstPauseMs; ; ms = nextPause(ms)) {
    try {
      return await ask();
    } catch (cause) {
      if (!isBusy(cause)) throw cause;
      await pause(ctx, Math.max(ms, (cause.retryAfterSeconds ?? 0) * 1000));
    }
  }
}

async function ignoreTransient(
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

function nextPause(ms: number): number {
  return Math.min(pauseMsMax, ms * pauseGrowth);
}

function pendingChecks(domain: DomainRecord): string {
  const open = (['ownership', 'routing', 'certificate'] as const).filter((it) => domain[it].state !== 'ok');
  return open.map((it) => `${it} (${domain[it].reason ?? domain[it].state})`).join(', ') || 'the server';
}

function domainResult(domain: DomainRecord): Result {
  return { value: domain, text: (style) => domainText(domain, style) };
}
