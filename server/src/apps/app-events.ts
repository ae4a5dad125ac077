import type { ResourceTier } from '@svc/contract/limits.ts';
import type { AppMutationCtx, AuditedChange, MutationCtx, TenantMutationCtx } from '../core/context.ts';
import { defineEvents, type PlanPart } from '../core/events.ts';

/** The publisher of every event holds the app's row lock. */
interface AppEvents {
  created(ctx: TenantMutationCtx, app: { appId: string; slug: string; hasStorage: boolean }): Promise<void>;
  archived(ctx: AppMutationCtx, app: AppRef): Promise<PlanPart>;
  deleted(ctx: AppMutationCtx, app: AppRef): Promise<PlanPart>;
  restored(ctx: AppMutationCtx, app: AppRef): Promise<void>;
  /** Also published for an app that is suspended already: a deployment that would resume it is canceled. */
  suspended(ctx: AppMutationCtx, app: AppRef): Promise<PlanPart | undefined>;
  /** Returns the deployment that brings the app back; nothing where its static files are enough. */
  resumed(ctx: AppMutationCtx, app: AppRef): Promise<{ seq: number; isNew: boolean } | null>;
  narrowed(ctx: AppMutationCtx, app: AppRef): Promise<PlanPart>;
  resized(ctx: AppMutationCtx, app: AppRef & { preset: ResourceTier }): Promise<void>;
  ownerRemoved(ctx: AppMutationCtx, app: AppRef & { userId: string }): Promise<void>;
  purged(ctx: MutationCtx, app: AppRef): Promise<PurgedPart>;
}

export interface AppRef {
  tenantId: string;
  appId: string;
  slug: string;
}

interface PurgedPart {
  removed: Record<string, number>;
  changes?: readonly AuditedChange[];
}

export const { on: onApp, publish: publishAppEvent } = defineEvents<AppEvents>('app');
