import { findAppOfTenant } from '../apps/find-app-of-tenant.ts';
import { reaches } from '../apps/rules.ts';
import type { TenantCtx } from '../plumbing/context.ts';
import { fail } from '../plumbing/problem.ts';
import { loadAppTables } from '../tables/load-app-tables.ts';
import { accessDecision } from './access-decision.ts';
import { type AppDocument, appDocument } from './app-document.ts';

/** The document of the tables that the caller reaches, also in an app that they see nothing else of. */
export async function describeApp(
  { db, tenant, caller }: TenantCtx,
  { app: ref, baseUrl }: { app: string; baseUrl: string },
): Promise<AppDocument> {
  const app = await findAppOfTenant(db, tenant.id, { ref, userId: caller.userId });
  if (!app) throw fail('not_found');
  const all = await loadAppTables(db, { tenantId: tenant.id, appId: app.id });
  const { decide } = await accessDecision(
    db,
    { tenant, app, caller },
    all.flatMap(({ grants }) => grants),
  );
  const tables = all.flatMap(({ grants, ...table }) => {
    const access = decide(grants);
    return access ? [{ ...table, access }] : [];
  });
  if (tables.length === 0 && !reaches(app.visibility, app.relation, tenant.role)) throw fail('not_found');
  return appDocument({ baseUrl, tenant, app, tables });
}
