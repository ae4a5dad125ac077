import * as shapes from '@svc/contract/apps.shapes.ts';
import * as endpoints from '@svc/contract/apps.ts';
import { findAppOfTenant } from '../../apps/record/find-app.ts';
import { isVisibleTo } from '../../apps/record/rules.ts';
import type { TenantCtx } from '../../core/context.ts';
import { Failure, fail } from '../../core/problem.ts';
import { type Route, route } from '../../http/router.ts';
import type { Access } from '../rows/access.ts';
import { callerTables, prepareAccessDecision } from '../rows/table-access.ts';
import { loadAppTables } from '../tables/load-catalogue.ts';
import { type AppDocument, appDocument } from './app-document.ts';

export function documentRoutes({ baseUrl }: { baseUrl: string }): Route[] {
  return [
    route(
      endpoints.getAppDocument,
      shapes.getAppDocument,
      (ctx, { params: { app } }) => getAppDocument(ctx, { app, baseUrl }),
      { etag: ({ info }) => `"${info.version}"` },
    ),
  ];
}

/** A table whose policy does not fit it answers nobody, so it is not in the document. */
function decideOrClose(decide: () => Access | null): Access | null {
  try {
    return decide();
  } catch (error) {
    if (error instanceof Failure && error.code === 'policy_unresolvable') return null;
    throw error;
  }
}

export async function getAppDocument(
  { db, tenant, caller }: TenantCtx,
  { app: ref, baseUrl }: { app: string; baseUrl: string },
): Promise<AppDocument> {
  const app = await findAppOfTenant(db, tenant.id, { ref, userId: caller.userId });
  if (!app) throw fail('not_found');
  const all = await loadAppTables(db, { tenantId: tenant.id, appId: app.id });
  const allGrants = all.flatMap(({ grants }) => grants);
  const { decide } = await prepareAccessDecision(db, { tenant, app, caller }, allGrants);
  const tables = all.flatMap(({ grants, ...table }) => {
    const access = decideOrClose(() => decide(table.catalogue, grants));
    if (!access) return [];
    const { table: seen } = callerTables(table.catalogue, access, '');
    return [{ ...table, access, readable: [...seen.byName.values()] }];
  });
  if (tables.length === 0 && !isVisibleTo(app.visibility, app.relation, tenant.role)) throw fail('not_found');
  return appDocument(baseUrl, tenant, app, tables);
}
