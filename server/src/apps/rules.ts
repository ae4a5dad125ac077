import type { App, Owner } from '@svc/contract/apps.shapes.ts';
import { slugPattern } from '@svc/contract/limits.ts';
import type { z } from 'zod';
import type { AppAccess, TenantAccess } from '../plumbing/context.ts';
import { isUuid } from '../plumbing/ref.ts';
import type { AppRow } from './store.ts';

export type AppRecord = z.output<typeof App>;
export type OwnerRecord = z.output<typeof Owner>;
export type Relation = AppAccess['relation'];

/** Whether a member of the tenant sees the app. Admins govern every app, so they see each. */
export function reaches(
  visibility: AppAccess['visibility'],
  relation: Relation,
  role: TenantAccess['role'],
): boolean {
  if (relation !== 'none' || role === 'tenant_admin') return true;
  return visibility === 'public' || visibility === 'internet';
}

/** A co-owner may step down by themself; the rest is for the representative owner and for admins. */
export function mayRemoveCoOwner(
  caller: { userId: string; isOwner: boolean; role: TenantAccess['role'] },
  coOwnerId: string,
): boolean {
  return caller.isOwner || caller.role === 'tenant_admin' || caller.userId === coOwnerId;
}

/** Whether a text can name an app at all; what can not is never looked up. */
export function isAppRef(text: string): boolean {
  return isUuid(text) || slugPattern.test(text);
}

export function appRecord({ record: _, ...row }: AppRow): AppRecord {
  return { ...row, created_at: row.created_at.toISOString(), updated_at: row.updated_at.toISOString() };
}
