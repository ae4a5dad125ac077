import { slugPattern } from '@svc/contract/limits.ts';
import { isSafeName, safeNameExpected } from '@svc/contract/safe-names.ts';
import type { Member, Tenant } from '@svc/contract/tenants.shapes.ts';
import { tenantNameCharsMax } from '@svc/contract/tenants.ts';
import type { z } from 'zod';
import { fail, validationError } from '../../core/problem.ts';
import { isUuid } from '../../core/values.ts';
import type { MemberRow, TenantRow } from './store.ts';

export type TenantRecord = z.output<typeof Tenant>;
export type MemberRecord = z.output<typeof Member>;

/** A slug in the form of a UUID could name two tenants. */
export function parseTenantSlug(slug: string): string {
  if (slugPattern.test(slug) && !isUuid(slug)) return slug;
  throw validationError(
    'slug',
    'must have 2 to 63 characters of a-z, 0-9 and -, start with a letter, not end with -, and not be a UUID',
  );
}

export function parseTenantName(text: string): string {
  const name = text.trim();
  if (name === '' || [...name].length > tenantNameCharsMax)
    throw validationError('name', `must be 1 to ${tenantNameCharsMax} characters`);
  if (!isSafeName(name)) throw validationError('name', safeNameExpected);
  return name;
}

export function isTenantRef(text: string): boolean {
  return isUuid(text) || slugPattern.test(text);
}

export function leavesNoAdmin(activeAdminIds: readonly string[], demotedUserId: string): boolean {
  return activeAdminIds.every((id) => id === demotedUserId);
}

export function tenantRecord(row: TenantRow): TenantRecord {
  return {
    id: row.id,
    slug: row.slug,
    ...tenantSettings(row),
    created_at: row.created_at.toISOString(),
  };
}

export function tenantSettings(row: TenantRow) {
  return {
    name: row.name,
    max_resource_tier: row.max_resource_tier,
    review_deployments: row.review_deployments,
    invite_only_people_max: row.invite_only_people_max,
    access_requests: row.access_requests,
    require_second_factor: row.require_second_factor,
  };
}

export function memberRecord({ since, deactivated_at: _, ...member }: MemberRow): MemberRecord {
  return { ...member, since: since.toISOString() };
}

/** Opaque to clients, so that they do not calculate with it. */
export function formatAuditCursor(seq: number): string {
  return Buffer.from(`seq:${seq}`).toString('base64url');
}

export function parseAuditCursor(cursor: string): number {
  const seq = /^seq:([1-9]\d{0,15})$/.exec(Buffer.from(cursor, 'base64url').toString())?.[1];
  if (seq === undefined || formatAuditCursor(Number(seq)) !== cursor) throw fail('invalid_cursor');
  return Number(seq);
}
