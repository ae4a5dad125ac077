import type { ResourceTier } from '@svc/contract/limits.ts';
import type { MutationCtx, TenantAccess } from '../core/context.ts';
import { defineEvents } from '../core/events.ts';

interface PersonEvents {
  /** A member's role changed; `after` is null when they left the tenant. */
  roleChanged(ctx: MutationCtx, member: RoleChange): Promise<void>;
  /** Published after the membership is deleted: creating a grant or a token locks the membership first. */
  leftTenant(
    ctx: MutationCtx,
    member: { tenantId: string; user: { id: string; email: string } },
  ): Promise<void>;
  /** Ended by the tenant's directory; the membership stays. `isElsewhere`: of another tenant too, where sign-ins go on. */
  deactivated(
    ctx: MutationCtx,
    member: { tenantId: string; user: { id: string; email: string }; isElsewhere: boolean },
  ): Promise<void>;
  /** Published before the group is deleted. */
  groupDeleted(
    ctx: MutationCtx,
    deleted: { tenantId: string; group: { id: string; name: string } },
  ): Promise<void>;
  suspended(ctx: MutationCtx, user: { userId: string }): Promise<void>;
  activated(ctx: MutationCtx, user: { userId: string }): Promise<void>;
  /** `keep`: the credential that changed it stays signed in. */
  passwordChanged(ctx: MutationCtx, user: { userId: string; keep?: string | undefined }): Promise<void>;
  secondFactorRequired(ctx: MutationCtx, tenant: { tenantId: string }): Promise<void>;
  maxTierChanged(ctx: MutationCtx, tenant: { tenantId: string; tier: ResourceTier }): Promise<void>;
}

export interface RoleChange {
  tenantId: string;
  userId: string;
  before: TenantAccess['role'];
  after: TenantAccess['role'] | null;
}

export const { on: onPerson, publish: publishPersonEvent } = defineEvents<PersonEvents>('person');
