import type { Preview } from '@svc/contract/plan.ts';
import { getRelease } from '@svc/contract/static-sites.ts';
import type { Result } from '../command.ts';
import type { Ctx } from '../context.ts';
import { CliError } from '../errors.ts';
import { executeLine } from '../plan-text.ts';
import type { Uploaded } from './upload-missing.ts';

/** How far a deployment has come. */
export interface DeployStage {
  doing: 'reading' | 'announcing' | 'uploading' | 'finalizing';
  /** Files that had to be sent. */
  missing: number;
  uploaded: Uploaded;
}

const next = 'Run the same command again; it goes on where it stopped.';

/** What ended it for now, with how to go on: the server knows the same draft again, and what has arrived of it. */
export function leftOff(cause: unknown, stage: DeployStage): unknown {
  if (!(cause instanceof CliError) || !passing.includes(cause.code)) return cause;
  if (stage.doing !== 'reading')
    return new CliError(cause.code, `${cause.message} ${far(stage)}`, { next, cause });
  return cause.code === 'interrupted'
    ? new CliError(cause.code, 'Interrupted; nothing was sent.', { cause })
    : cause;
}

const passing: readonly string[] = ['interrupted', 'no_connection', 'timeout'];

function far({ doing, missing, uploaded }: DeployStage): string {
  if (doing === 'finalizing') return 'All files are sent; whether the release is finalized is not known.';
  if (doing === 'announcing') return 'Nothing is shown yet.';
  return `${uploaded.files} of ${missing} files are sent; nothing is shown yet.`;
}

/** The plan of a release that is there holds no change: there is something left to do for a draft, and nothing else. */
export async function goesOnText(
  ctx: Ctx,
  params: { tenantID: string; app: string },
  result: Result,
): Promise<Result> {
  const { plan } = result.value as Partial<Preview>;
  if (plan === undefined || plan.changes.length > 0) return result;
  const client = await ctx.client();
  const input = { params: { ...params, release: plan.target.id } };
  const { number, state } = await client.call(getRelease, input, { signal: ctx.signal });
  if (state !== 'draft')
    return {
      ...result,
      text: () => `Release ${number} is the same, and in place. There is nothing to do.\n`,
    };
  const line = executeLine(ctx.mutation.argv);
  return {
    ...result,
    text: () => `This release was begun before, and is not finished. To go on:\n  ${line}\n`,
  };
}
