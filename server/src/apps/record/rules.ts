import type { App } from '@svc/contract/apps.shapes.ts';
import { visibilities } from '@svc/contract/apps.ts';
import { uploadedIcon } from '@svc/contract/icons.ts';
import { type ResourceTier, resourceTiers, slugPattern } from '@svc/contract/limits.ts';
import type { AppMember } from '@svc/contract/owners.shapes.ts';
import type { z } from 'zod';
import { type AppAccess, ownsApp, type TenantAccess } from '../../core/context.ts';
import { isUuid } from '../../core/values.ts';
import type { AppRow, NewAppRow } from './store.ts';

export type AppRecord = z.output<typeof App>;
export type AppMemberRecord = z.output<typeof AppMember>;
export type Relation = AppAccess['relation'];

export function isVisibleTo(
  visibility: AppAccess['visibility'],
  relation: Relation,
  role: TenantAccess['role'],
): boolean {
  if (ownsApp(relation) || role === 'tenant_admin') return true;
  if (visibility === 'invite_only') return relation === 'member';
  return visibility === 'public' || visibility === 'internet';
}

export function canRestore(relation: Relation, role: TenantAccess['role']): boolean {
  return relation === 'owner' || role === 'tenant_admin';
}

export function isWider(from: AppAccess['visibility'], to: AppAccess['visibility']): boolean {
  return visibilities.indexOf(to) > visibilities.indexOf(from);
}

export function isWithinTier(tier: ResourceTier, max: ResourceTier): boolean {
  return resourceTiers.indexOf(tier) <= resourceTiers.indexOf(max);
}

export function ownerObstacle(member: { status: string } | null): 'suspended' | 'not_a_member' | null {
  if (!member) return 'not_a_member';
  return member.status === 'active' ? null : 'suspended';
}

export function isAppRef(text: string): boolean {
  return isUuid(text) || slugPattern.test(text);
}

export function appRecord(row: AppRow): AppRecord {
  return {
    id: row.id,
    tenant_id: row.tenant_id,
    slug: row.slug,
    name: row.name,
    ...appSettings(row),
    approved_data_scopes: row.approved_data_scopes,
    icon_url: uploadedIcon(row.icon_url),
    icon_dark_url: uploadedIcon(row.icon_dark_url),
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

export function appListItem(row: AppRow): Omit<AppRecord, 'description'> {
  const { description: _, ...listed } = appRecord(row);
  return listed;
}

export function appSettings(row: NewAppRow) {
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

export type AppUrls = { baseUrl: string; appsDomain: string } | null;

export function appUrl(urls: { baseUrl: string; appsDomain: string }, subdomain: string): string {
  const { protocol, port } = new URL(urls.baseUrl);
  return `${protocol}//${subdomain}.${urls.appsDomain}${port === '' ? '' : `:${port}`}/`;
}
