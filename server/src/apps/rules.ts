import type { App, Owner } from '@svc/contract/apps.shapes.ts';
import { visibilities } from '@svc/contract/apps.ts';
import { resourceTiers, slugPattern } from '@svc/contract/limits.ts';
import type { AppMember } from '@svc/contract/owners.shapes.ts';
import type { z } from 'zod';
import type { AppAccess, TenantAccess } from '../plumbing/context.ts';
import { ownsApp } from '../plumbing/is-enough.ts';
import { isUuid } from '../plumbing/ref.ts';
import type { AppRow, NewAppRow } from './store.ts';

export type AppRecord = z.output<typeof App>;
export type OwnerRecord = z.output<typeof Owner>;
export type AppMemberRecord = z.output<typeof AppMember>;
export type ResourceTier = (typeof resourceTiers)[number];
export type Relation = AppAccess['relation'];

/** Whether a member of the tenant sees the app. Admins govern every app, so they see each. */
export function reaches(
  visibility: AppAccess['visibility'],
  relation: Relation,
  role: TenantAccess['role'],
): boolean {
  if (ownsApp(relation) || role === 'tenant_admin') return true;
  if (visibility === 'invite_only') return relation === 'member';
  return visibility === 'public' || visibility === 'internet';
}

/** A deleted app is there for who can bring it back or purge it. */
export function governs(relation: Relation, role: TenantAccess['role']): boolean {
  return relation === 'owner' || role === 'tenant_admin';
}

/** Never wider by an update: `publish` is the way there, and somebody else looks at it first. */
export function widens(from: AppAccess['visibility'], to: AppAccess['visibility']): boolean {
  return visibilities.indexOf(to) > visibilities.indexOf(from);
}

export function isWithinTier(tier: ResourceTier, max: ResourceTier): boolean {
  return resourceTiers.indexOf(tier) <= resourceTiers.indexOf(max);
}

/** A co-owner may step down by themself; the rest is for the representative owner and for admins. */
export function mayRemoveCoOwner(
  caller: { userId: string; isOwner: boolean; role: TenantAccess['role'] },
  coOwnerId: string,
): boolean {
  return caller.isOwner || caller.role === 'tenant_admin' || caller.userId === coOwnerId;
}

/** Who is invited may leave by themself; the rest is for the app's owners and for admins. */
export function mayRemoveMember(
  caller: { userId: string; relation: Relation; role: TenantAccess['role'] },
  memberId: string,
): boolean {
  return ownsApp(caller.relation) || caller.role === 'tenant_admin' || caller.userId === memberId;
}

/** What keeps a representative owner, by their membership of the tenant, from handing the app over themself. */
export function ownerObstacle(member: { status: string } | null): 'suspended' | 'not_a_member' | null {
  if (!member) return 'not_a_member';
  return member.status === 'active' ? null : 'suspended';
}

/** Whether a text can name an app at all; what can not is never looked up. */
export function isAppRef(text: string): boolean {
  return isUuid(text) || slugPattern.test(text);
}

export function appRecord(row: AppRow): AppRecord {
  return {
    id: row.id,
    tenant_id: row.tenant_id,
    slug: row.slug,
    name: row.name,
    ...settingsOf(row),
    owner_id: row.owner_id,
    record: row.record,
    runtime: row.runtime,
    deployment_status: row.deployment_status,
    operating_status: row.operating_status,
    review_status: row.review_status,
    deleted_at: row.deleted_at?.toISOString() ?? null,
    purge_after: row.purge_after?.toISOString() ?? null,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

/** In a listing, without the long text. */
export function listedApp(row: AppRow): Omit<AppRecord, 'description'> {
  const { description: _, ...listed } = appRecord(row);
  return listed;
}

/** What its owners have said of it, for the answer and for the audit alike. */
export function settingsOf(row: NewAppRow) {
  return {
    summary: row.summary,
    description: row.description,
    category_id: row.category_id,
    subdomain: row.subdomain,
    auth_mode: row.auth_mode,
    data_scopes: row.data_scopes,
    deploy_method: row.deploy_method,
    resource_preset: row.resource_preset,
    visibility: row.visibility,
    cost_center: row.cost_center,
    icon_url: row.icon_url,
    icon_dark_url: row.icon_dark_url,
  };
}
