import { slugPattern } from '@svc/contract/limits.ts';
import type { Member, Tenant } from '@svc/contract/tenants.shapes.ts';
import { tenantNameCharsMax } from '@svc/contract/tenants.ts';
import type { z } from 'zod';
import { fail, invalid } from '../plumbing/problem.ts';
import { isUuid } from '../plumbing/ref.ts';
import type { MemberRow, TenantRow } from './store.ts';

export type TenantRecord = z.output<typeof Tenant>;
export type MemberRecord = z.output<typeof Member>;

/** A slug in the form of a UUID would stand for two tenants at once. */
export function checkedSlug(slug: string): string {
  if (slugPattern.test(slug) && !isUuid(slug)) return slug;
  throw invalid(
    'slug',
    'must be 2 to 63 of a-z, 0-9 and -, begin with a letter, not end with -, not be a UUID',
  );
}

export function checkedTenantName(text: string): string {
  const name = text.trim();
  if (name !== '' && [...name].length <= tenantNameCharsMax && !/\p{Cc}/u.test(name)) return name;
  throw invalid('name', `must be 1 to ${tenantNameCharsMax} printable characters`);
}

/** Whether a text can name a tenant at all; what can not is never looked up. */
export function isTenantRef(text: string): boolean {
  return isUuid(text) || slugPattern.test(text);
}

export function leavesNoAdmin(activeAdminIds: readonly string[], demotedUserId: string): boolean {
  return activeAdminIds.every((id) => id === demotedUserId);
}

export function tenantRecord({ id, slug, name, max_resource_tier, created_at }: TenantRow): TenantRecord {
  return { id, slug, name, max_resource_tier, created_at: created_at.toISOString() };
}

export function memberRecord({ since, ...member }: MemberRow): MemberRecord {
  return { ...member, since: since.toISOString() };
}

/** The cursor of the audit list is the last number seen, in a form that invites no arithmetic. */
export function auditCursor(seq: number): string {
  return Buffer.from(`seq:${seq}`).toString('base64url');
}

export function seqOfCursor(cursor: string): number {
  const seq = /^seq:([1-9]\d{0,15})$/.exec(Buffer.from(cursor, 'base64url').toString())?.[1];
  if (seq === undefined || auditCursor(Number(seq)) !== cursor) throw fail('invalid_cursor');
  return Number(seq);
}
