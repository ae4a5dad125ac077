import type { TenantMutationCtx } from '../plumbing/context.ts';
import type { Creator } from './as-creator.ts';
import type { BootstrapParts } from './bootstrap-parts.ts';
import type { Run } from './store.ts';

export interface StepWork {
  parts: BootstrapParts;
  run: Run;
  /** Who started the run: everything is done with their right. */
  creator: Creator;
  signal: AbortSignal;
}

/** `running`: it waits for something that others do, and is looked at again. */
export type StepEnd =
  | { state: 'done'; output: Record<string, unknown>; detail: string }
  | { state: 'running'; output: Record<string, unknown>; detail: string; againAfterSeconds: number };

/**
 * What a step does outside, which must be safe to do again; then what it changes here, in the very transaction that
 * writes down how it ended.
 */
export type Step = (work: StepWork) => Promise<(ctx: TenantMutationCtx) => Promise<StepEnd>>;
