import type { Deployment } from '@svc/contract/deployments.shapes.ts';
import type { ExitCode } from '@svc/contract/exit-codes.ts';
import type { z } from 'zod';
import { plain } from '../output.ts';

export type DeploymentRecord = z.output<typeof Deployment>;

export interface DeploymentEnding {
  exit?: ExitCode;
  /** What people are told beside the result; null: nothing. */
  note: string | null;
}

/** What a deployment that has ended means to who waited for it. */
export function deploymentEnding(deployment: DeploymentRecord, app: string): DeploymentEnding {
  const { seq, state, failure, release_id } = deployment;
  const name = `Deployment #${seq}`;
  const of = `--app ${plain(app)}`;
  switch (state) {
    case 'failed': {
      const why = failure
        ? `${failure.detail || failure.code} (${failure.code}, step ${failure.step})`
        : 'no reason is known';
      return { exit: 9, note: `${name} failed: ${plain(why)}. What was live before still is.` };
    }
    case 'canceled':
      return { exit: 9, note: `${name} was canceled.` };
    case 'skipped':
      return {
        exit: 9,
        note: `${name} was skipped: a newer one took its place. See svc deployments list ${of}`,
      };
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
