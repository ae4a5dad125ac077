import { namePattern } from '@svc/contract/columns.ts';
import { type AppOfTenant, findAppOfTenant } from '../../apps/record/find-app.ts';
import { isVisibleTo } from '../../apps/record/rules.ts';
import type { TaggedCache } from '../../core/cache.ts';
import { type AppAccess, appRef, type Caller, ownsApp, type TenantAccess } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { appTag, credentialTag, tableTag, userTag } from '../../core/tags.ts';
import { isUuid } from '../../core/values.ts';
import { listGroupIdsOf } from '../../people/groups/groups.ts';
import { listTableGrantEntries } from '../tables/grants-store.ts';
import { loadCatalogue } from '../tables/load-catalogue.ts';
import { type AccessFacts, decideRowAccess, type RowAccess } from './access-rules.ts';
import type { RowsPath } from './context.ts';
import { type RowTable, rowTable } from './row-table.ts';

export interface TableAccess {
  app: Pick<AppAccess, 'id' | 'slug' | 'record'>;
  table: RowTable;
  access: RowAccess;
}

type TableRef = Pick<RowsPath, 'tenant' | 'app' | 'table'>;

interface TableAccessDeps {
  db: Db;
  cache: TaggedCache<TableAccess>;
  tenantAccess: (ref: string, caller: Caller) => Promise<TenantAccess | null>;
}

export type TableAccessCache = ReturnType<typeof createTableAccess>;

export function createTableAccess(deps: TableAccessDeps) {
  const cacheKey = (caller: Caller, ref: TableRef) =>
    `${caller.credentialId} ${ref.tenant}/${ref.app}/${ref.table}`;
  return {
    /** Null both when the table does not exist and when the caller has no access. */
    resolve: (caller: Caller, ref: TableRef): Promise<TableAccess | null> =>
      deps.cache.get(cacheKey(caller, ref), () => resolveTableAccess(deps, caller, ref)),
    invalidate: (caller: Caller, ref: TableRef): void => deps.cache.delete(cacheKey(caller, ref)),
  };
}

async function resolveTableAccess({ db, tenantAccess }: TableAccessDeps, caller: Caller, ref: TableRef) {
  if (!isTableRef(ref.table)) return null;
  const tenant = await tenantAccess(ref.tenant, caller);
  if (!tenant || (caller.scope && caller.scope.tenantId !== tenant.id)) return null;
  const { userId } = caller;
  const app = await findAppOfTenant(db, tenant.id, { ref: ref.app, userId });
  if (!app) return null;
  const catalogue = await loadCatalogue(db, appRef({ tenant, app }), ref.table);
  if (!catalogue) return null;
  const grants = await listTableGrantEntries(db, catalogue.id);
  const { decide, apps } = await prepareAccessDecision(db, { tenant, app, caller }, grants);
  const access = decide(grants);
  if (!access) return null;
  const tags = [
    credentialTag(caller.credentialId),
    userTag(userId),
    tableTag(catalogue.id),
    ...apps.map(({ id }) => appTag(id)),
  ];
  return { value: { app, table: rowTable(catalogue), access }, tags };
}

/** Other texts are not looked up: PostgreSQL may reject them, and that error would reveal that the app exists. */
const isTableRef = (text: string) => isUuid(text) || namePattern.test(text);

export async function prepareAccessDecision(
  db: Db,
  { tenant, app, caller }: { tenant: TenantAccess; app: AppOfTenant; caller: Caller },
  grants: AccessFacts['grants'],
) {
  const { userId, throughApp } = caller;
  const relatedApps = await findRelatedApps(db, tenant.id, caller, grants);
  const isGrantedToGroups = grants.some(({ principalType }) => principalType === 'group');
  const groups = isGrantedToGroups ? await listGroupIdsOf(db, tenant.id, userId) : [];
  const apps = [app, ...relatedApps];
  const through = apps.find(({ id }) => id === throughApp);
  const facts = {
    userId,
    role: tenant.role,
    // As a member: admins manage every app, but use only those that are visible to them.
    through:
      throughApp === undefined
        ? null
        : {
            appId: throughApp,
            visible: !!through && isVisibleTo(through.visibility, through.relation, 'tenant_member'),
          },
    scope: caller.scope ?? null,
    app,
    ownedApps: new Set(relatedApps.filter(({ relation }) => ownsApp(relation)).map(({ id }) => id)),
    groups: new Set(groups),
  };
  return { decide: (grants: AccessFacts['grants']) => decideRowAccess({ ...facts, grants }), apps };
}

async function findRelatedApps(
  db: Db,
  tenantId: string,
  { userId, throughApp }: Caller,
  grants: AccessFacts['grants'],
): Promise<AppAccess[]> {
  const appGrants = grants.filter((grant) => grant.principalType === 'app');
  const ids = new Set(appGrants.map(({ principalId }) => principalId));
  if (throughApp !== undefined) ids.add(throughApp);
  const apps = await Promise.all([...ids].map((ref) => findAppOfTenant(db, tenantId, { ref, userId })));
  return apps.filter((app) => app !== null);
}
