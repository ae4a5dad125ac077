import type { FailureCode } from './rules.ts';

/** A step can not be done, now or later. */
export class StepRefused extends Error {
  constructor(
    readonly code: FailureCode,
    message: string,
  ) {
    super(message);
    this.name = 'StepRefused';
  }
}

/** Another copy works on the run by now, or it has ended: nothing of this one's counts any more. */
export class ClaimLost extends Error {
  constructor() {
    super('The run is not ours any more.');
    this.name = 'ClaimLost';
  }
}
