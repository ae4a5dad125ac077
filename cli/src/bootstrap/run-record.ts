import type { BootstrapRun, startBootstrap } from '@svc/contract/bootstrap.shapes.ts';
import { bootstrapEndStates } from '@svc/contract/bootstrap.ts';
import type { z } from 'zod';

export type RunRecord = z.output<typeof BootstrapRun>;
export type StartedRun = z.output<(typeof startBootstrap)['answer']>;

export function hasEnded({ state }: Pick<RunRecord, 'state'>): boolean {
  return (bootstrapEndStates as readonly string[]).includes(state);
}
