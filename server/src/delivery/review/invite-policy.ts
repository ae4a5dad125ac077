import type { LockedApp } from '../../apps/record/app-access.ts';
import { countInvited } from '../../apps/record/people.ts';
import { isWider } from '../../apps/record/rules.ts';
import { findInvitedMax, widenApp } from '../../apps/record/status-store.ts';
import type { AppMutationCtx, AppRef, MutationCtx } from '../../core/context.ts';
import type { PlanPart } from '../../core/events.ts';
import { findTenant } from '../../people/tenants/tenants.ts';
import { markDeploymentReviewed } from '../deployments/reviews.ts';
import { publishRelease } from '../static-sites/release-moves.ts';
import { notifyOwners } from './notifications.ts';
import { insertPublicationRow, type PublicationRow, publicationRecord } from './publications.ts';
import { hasNewScopes } from './rules.ts';

interface InvitePolicy {
  invited: number;
  invitedMax: number;
}

/** Wider, with more data scopes, or without the limit of a policy. Caller must hold the app's row lock. */
export async function needsApproval(
  { db }: Pick<MutationCtx, 'db'>,
  app: Pick<LockedApp, 'id' | 'tenant_id' | 'visibility' | 'approved_data_scopes'>,
  visibility: PublicationRow['visibility'],
  scopes: readonly string[],
): Promise<boolean> {
  if (isWider(app.visibility, visibility)) return true;
  if (app.visibility !== visibility) return false;
  if (hasNewScopes({ data_scopes: scopes, data_scopes_before: app.approved_data_scopes })) return true;
  return (await findInvitedMax(db, { tenantId: app.tenant_id, appId: app.id })) !== null;
}

/** The tenant's policy, if it approves the request: few invited people, and no groups, whose members change. */
export async function findInvitePolicy(
  ctx: AppMutationCtx,
  ref: AppRef,
  { visibility }: Pick<PublicationRow, 'visibility'>,
): Promise<InvitePolicy | null> {
  if (visibility !== 'invite_only') return null;
  const invitedMax = (await findTenant(ctx, { ref: ref.tenantId }))?.invite_only_people_max ?? 0;
  const { people, groups } = await countInvited(ctx.db, ref);
  // A limit that is in force already would approve nothing new.
  const isNew = invitedMax > ((await findInvitedMax(ctx.db, ref)) ?? 0);
  return isNew && groups === 0 && people <= invitedMax ? { invited: people, invitedMax } : null;
}

/** No person decides: the audit entry says so, and the app can invite only so many people. */
export async function approveByPolicy(
  ctx: AppMutationCtx,
  app: LockedApp,
  { row: request, policy }: { row: PublicationRow; policy: InvitePolicy },
) {
  const reason = `Approved by policy: at most ${policy.invitedMax} invited people.`;
  const row = { ...request, status: 'approved', decided_at: ctx.now, reason } as const;
  const { visibility, visibility_before, digest, pinned, note } = row;
  await insertPublicationRow(ctx.db, row);
  const shown = await publishPinned(ctx, app, row);
  await widenApp(ctx, { tenantId: app.tenant_id, appId: app.id }, { visibility, ...policy });
  ctx.audit({
    action: 'publications.request',
    appId: app.id,
    target: { kind: 'publication_request', id: row.id, name: app.slug },
    before: { visibility: visibility_before, ...shown.before },
    after: {
      status: 'approved',
      approved_by: 'policy',
      invited_people: policy.invited,
      invited_people_max: policy.invitedMax,
      visibility,
      pinned,
      digest,
      note,
      ...shown.after,
    },
  });
  await notifyOwners(ctx, row);
  return publicationRecord(ctx, row);
}

/** Records the review of the content, and shows what was staged. Caller must hold the app's row lock. */
export async function publishPinned(
  ctx: MutationCtx,
  app: LockedApp,
  {
    release_id,
    deployment_id,
    visibility,
    note,
  }: Pick<PublicationRow, 'release_id' | 'deployment_id' | 'visibility' | 'note'>,
): Promise<PlanPart> {
  const ref = { tenantId: app.tenant_id, appId: app.id };
  const shown =
    release_id === null
      ? { before: {}, after: {} }
      : await publishRelease(ctx, app, { id: release_id, visibility, note });
  if (deployment_id !== null) await markDeploymentReviewed(ctx, ref, { id: deployment_id, visibility });
  return shown;
}
