import { findAppOfTenant } from '../apps/find-app-of-tenant.ts';
import type { TenantCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { type PublicationRecord, publicationRecord } from './publication-records.ts';
import { mayLook } from './rules.ts';
import { findPublicationRow } from './store.ts';

/** For owners of its app and for admins; for others it is not there. */
export async function getPublication(ctx: TenantCtx, { id }: { id: string }): Promise<PublicationRecord> {
  const { db, tenant, caller } = ctx;
  const row = await findPublicationRow(db, tenant.id, id);
  if (!row) throw fail('not_found');
  const app = await findAppOfTenant(db, tenant.id, { ref: row.app_id, userId: caller.userId });
  if (!mayLook({ relation: app?.relation ?? 'none', role: tenant.role })) throw fail('not_found');
  return publicationRecord(ctx, row);
}
