import type { AppRef, MutationCtx } from '../../core/context.ts';
import { defineEvents, mergePlanParts, type PlanPart } from '../../core/events.ts';

/** Changes of what visitors see. Static sites and deployments publish them, under the app's row lock. */
interface LiveEvents {
  releaseActivated(ctx: MutationCtx, release: AppRef & { releaseId: string }): Promise<void>;
  /** The live or staged content, or how it is served, has changed. `live` names what became live, if anything did. */
  changed(ctx: MutationCtx, change: AppRef & { live?: LiveTarget }): Promise<PlanPart | undefined>;
  /** A deployment is built, and goes live only after a review. */
  reviewRequired(ctx: MutationCtx, deployment: AppRef & { deploymentId: string }): Promise<void>;
  findProcess(ctx: Pick<MutationCtx, 'db'>, app: AppRef): Promise<{ method: string } | undefined>;
}

export interface LiveTarget {
  kind: 'deployment' | 'release';
  id: string;
}

export const { on: onLive, publish: publishLiveEvent } = defineEvents<LiveEvents>('live');

export async function publishLiveChange(ctx: MutationCtx, app: AppRef, live?: LiveTarget): Promise<PlanPart> {
  return mergePlanParts(await publishLiveEvent(ctx, 'changed', { ...app, live }));
}

export async function findRunningProcess(ctx: Pick<MutationCtx, 'db' | 'events'>, app: AppRef) {
  const [found] = await publishLiveEvent(ctx, 'findProcess', app);
  return found;
}
