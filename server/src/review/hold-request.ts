import { lockApp } from '../apps/app-row.ts';
import { findAppOfTenant } from '../apps/find-app-of-tenant.ts';
import type { HeldApp } from '../apps/hold-app.ts';
import type { TenantMutationCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { findMember } from '../tenants/find-member.ts';
import { mayLook } from './rules.ts';
import { type AppPlace, findPublicationRow, type PublicationRow } from './store.ts';

export interface HeldRequest {
  app: HeldApp;
  place: AppPlace;
  request: PublicationRow;
}

/**
 * A request with its app under the app's lock, which everything takes that changes either; and what the caller is to the
 * app by then. For whoever has no part in it the request is not there.
 */
export async function holdRequest(ctx: TenantMutationCtx, { id }: { id: string }): Promise<HeldRequest> {
  const { db, tenant, caller } = ctx;
  const found = await findPublicationRow(db, tenant.id, id);
  const row = found && (await lockApp(db, tenant.id, found.app_id, 'any'));
  const request = row && (await findPublicationRow(db, tenant.id, id));
  const member = await findMember(db, tenant.id, caller.userId);
  if (!request || member?.status !== 'active') throw fail('not_found');
  const seen = await findAppOfTenant(db, tenant.id, { ref: row.id, userId: caller.userId });
  const relation = seen?.relation ?? 'none';
  if (!mayLook({ relation, role: member.role })) throw fail('not_found');
  const app = { ...row, relation, callerRole: member.role };
  return { app, place: { tenantId: tenant.id, appId: row.id }, request };
}
