import type { Foreseen, TenantMutationCtx } from '../../core/context.ts';
import type { PolicyRow } from './store.ts';

export interface PolicyChange {
  before: PolicyRow | null;
  after: PolicyRow | null;
}

type LoadEffects = (ctx: TenantMutationCtx, change: PolicyChange) => Promise<Foreseen>;

/** What a change of a policy shows and hides. Tables belong to a later module, which sets `load` when it is opened. */
export interface PolicyEffects {
  load: LoadEffects;
}

export const noPolicyEffects = (): PolicyEffects => ({ load: async () => ({ effects: [], leftOff: 0 }) });
