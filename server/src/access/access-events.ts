import type { AccessPolicy } from '@svc/contract/access-policies.shapes.ts';
import type { NotificationKind } from '@svc/contract/notifications.ts';
import type { z } from 'zod';
import type { MutationCtx } from '../core/context.ts';
import { defineEvents } from '../core/events.ts';

export type PolicyRecord = z.output<typeof AccessPolicy>;

export interface PolicyRow extends Omit<PolicyRecord, 'connector_id' | 'created_at' | 'updated_at'> {
  connector_id: string | null;
  created_at: Date;
  updated_at: Date;
}

interface AccessEvents {
  connectorDeleted(ctx: MutationCtx, connector: { tenantId: string; connectorId: string }): Promise<void>;
  /** Called before the policy is stored. Subscribers refuse one that does not fit the tables. */
  policySaved(ctx: MutationCtx, saved: { policy: PolicyRow; before: PolicyRow | null }): Promise<void>;
  notice(ctx: MutationCtx, notice: AccessNotice): Promise<void>;
}

interface AccessNotice {
  tenantId: string;
  kind: NotificationKind;
  appId: null;
  userIds: readonly string[];
  title: string;
  text: string;
  path: string;
}

export const { on: onAccess, publish: publishAccessEvent } = defineEvents<AccessEvents>('access');
