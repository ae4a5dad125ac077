import { GitFailure } from '../drivers/git-client/git-client.ts';
import { BuildFailure } from '../drivers/runtime/runtime.ts';
import type { DeploymentRow, DeploymentStep } from './store.ts';

/** Why a deployment ends without going live, as its owners are told. */
export class DeploymentFailure extends Error {
  constructor(
    readonly code: NonNullable<DeploymentRow['failure_code']>,
    readonly step: DeploymentStep,
    message: string,
  ) {
    super(message);
    this.name = 'DeploymentFailure';
  }
}

/** The lease is another's, or the deployment was ended by somebody: nothing that was found out counts. */
export class LostDeployment extends Error {
  constructor() {
    super('The deployment is not ours any more.');
    this.name = 'LostDeployment';
  }
}

/** Null: not one that the owners could mend, or were told of. */
export function failureOf(error: unknown): DeploymentFailure | null {
  if (error instanceof DeploymentFailure) return error;
  if (error instanceof BuildFailure) return new DeploymentFailure('build_failed', error.step, error.message);
  if (error instanceof GitFailure) return new DeploymentFailure('source_unavailable', 'fetch', error.message);
  return null;
}
