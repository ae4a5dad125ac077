import type { Deployment } from '@svc/contract/deployments.shapes.ts';
import type { ExitCode } from '@svc/contract/exit-codes.ts';
import type { z } from 'zod';
import { CliError, WorkFailed } from '../errors.ts';
import { plain } from '../output.ts';

export type DeploymentRecord = z.output<typeof Deployment>;

export interface DeploymentEnding {
  exit?: ExitCode;
  failed?: Error;
  /** What people are told beside the result; null: nothing. */
  note: string | null;
}

type FailureCode = NonNullable<DeploymentRecord['failure']>['code'];

/** Where the log of the build is not what to look at. */
const nextOf: Partial<Record<FailureCode, (id: string, of: string) => string>> = {
  source_unavailable: (_, of) =>
    `Check --ref and the repository; svc apps git status ${of} shows which it is.`,
  health_check_failed: (id, of) => `svc logs ${of} --deployment ${id} shows what the app said.`,
  release_timeout: (id, of) => `svc logs ${of} --deployment ${id} shows what the app said.`,
  runtime_unsupported: () =>
    'Ask the operator what apps run on here (SVC_RUNTIME), or deploy in another way.',
  lost: (_, of) => `Deploy it again: svc deploy ${of} --execute`,
  internal: (id) => `Tell the operator the id of the deployment, ${id}.`,
};

/** What a deployment that has ended means to who waited for it. */
export function deploymentEnding(
  deployment: DeploymentRecord,
  { app, before }: { app: string; before: 'live' | 'unknown' },
): DeploymentEnding {
  const { id, seq, state, failure, release_id } = deployment;
  const name = `Deployment #${seq}`;
  const of = `--app ${plain(app)}`;
  switch (state) {
    case 'failed': {
      const why = failure === null ? 'no reason is known' : failure.detail.replace(/\.$/, '') || failure.code;
      const at = failure === null ? '' : ` at ${failure.step}`;
      const still = before === 'live' ? ' What was live before still is.' : '';
      const next = failure === null ? undefined : nextOf[failure.code]?.(id, of);
      const failed = new WorkFailed(
        failure?.code ?? 'internal',
        `${name} failed${at}: ${why}.${still}`,
        next ?? `svc deployments logs ${id} ${of} shows what was said.`,
      );
      return { failed, note: null };
    }
    case 'canceled': {
      const next = `svc deployments get ${id} ${of} shows how far it came.`;
      return { failed: new CliError('canceled', `${name} was canceled.`, { next }), note: null };
    }
    case 'skipped': {
      const next = `svc deployments list ${of} shows it.`;
      const why = `${name} was skipped: a newer one took its place.`;
      return { failed: new CliError('skipped', why, { next }), note: null };
    }
    case 'superseded':
      return { note: `${name} was live; a newer one is by now.` };
    case 'built': {
      const next = `svc apps static releases promote-request --release-id ${release_id ?? '<id>'} ${of} --execute`;
      const first = `svc apps static site staging enable ${of} --execute`;
      return {
        exit: 11,
        note: `${name} is built, and shown when its release was reviewed. Next: ${next} (where nothing is staged yet: ${first}, then deploy again)`,
      };
    }
    default:
      return { note: null };
  }
}
