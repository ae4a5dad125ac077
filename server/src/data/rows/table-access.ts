import { namePattern } from '@svc/contract/columns.ts';
import { type AppOfTenant, findAppOfTenant } from '../../apps/record/find-app.ts';
import { isVisibleTo } from '../../apps/record/rules.ts';
import { listRolesOf } from '../../apps/roles/roles.ts';
import type { TaggedCache } from '../../core/cache.ts';
import { type AppAccess, appRef, type Caller, ownsApp, type TenantAccess } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { declareKey, type LiveKey } from '../../core/keys.ts';
import { type Failure, fail } from '../../core/problem.ts';
import { appTag, credentialTag, governanceTag, tableTag, userTag } from '../../core/tags.ts';
import { isDeepEqual, isUuid } from '../../core/values.ts';
import type { AppRows } from '../../drivers/row-database/row-pool.ts';
import { listGroupsOf } from '../../people/groups/groups.ts';
import { loadMemberAttributes } from '../../people/tenants/member-attributes.ts';
import type { CatalogueColumn, TableCatalogue } from '../tables/catalogue.ts';
import type { Me } from '../tables/conditions.ts';
import { listTableGrantEntries } from '../tables/grants.ts';
import { loadCatalogue } from '../tables/load-catalogue.ts';
import { type Access, isWritable, type RowAction, viewOf } from './access.ts';
import type { RowsPath } from './context.ts';
import { type AccessFacts, decideAccess } from './decide.ts';
import type { GovernedTable } from './governed-read.ts';
import { tenantHashKeys } from './masks.ts';
import { loadGovernance, loadOwnApp } from './policies.ts';
import { type RowTable, rowTable } from './row-table.ts';

export interface TableAccess {
  app: Pick<AppAccess, 'id' | 'slug' | 'record'>;
  table: RowTable;
  exportTable: RowTable;
  access: Access;
  until: number;
  rowDb?: AppRows | undefined;
  writeDb?: AppRows | undefined;
  isReadOnly?: boolean;
  governed?: GovernedTable;
  refusal?: (action: RowAction) => Failure;
}

export const maskKey = declareKey({
  name: 'rows.mask_key',
  protects: 'Hashes that stand for masked values',
  acceptedSeconds: 0,
});

type TableRef = Pick<RowsPath, 'tenant' | 'app' | 'table' | 'schema'>;

export interface TableAccessDeps {
  db: Db;
  now: () => Date;
  maskKey: LiveKey<string>;
  tenantAccess: (ref: string, caller: Caller) => Promise<TenantAccess | null>;
}

export type TableAccessCache = ReturnType<typeof createTableAccess>;

export function createTableAccess(deps: TableAccessDeps & { cache: TaggedCache<TableAccess> }) {
  const cacheKey = (caller: Caller, ref: TableRef) =>
    `${caller.credentialId} ${ref.tenant}/${ref.app}/${ref.table}`;
  return {
    /** Null both when the table does not exist and when the caller has no access. Not a promise where it is cached. */
    resolve(caller: Caller, ref: TableRef): Promise<TableAccess | null> | TableAccess | null {
      const key = cacheKey(caller, ref);
      const load = () => resolveTableAccess(deps, caller, ref);
      const current = (found: TableAccess | null) => {
        if (!found || found.until === Number.POSITIVE_INFINITY || found.until > deps.now().getTime())
          return found;
        deps.cache.delete(key);
        return deps.cache.get(key, load);
      };
      const known = deps.cache.peek(key);
      return known ? current(known) : deps.cache.get(key, load).then(current);
    },
    invalidate: (caller: Caller, ref: TableRef): void => deps.cache.delete(cacheKey(caller, ref)),
  };
}

async function resolveTableAccess(deps: TableAccessDeps, caller: Caller, ref: TableRef) {
  const tenant = await deps.tenantAccess(ref.tenant, caller);
  if (!tenant) return null;
  const found = await decideTableAccess(deps, tenant, caller, ref);
  if (!found?.value) return null;
  const tags = [
    credentialTag(caller.credentialId),
    userTag(caller.userId),
    governanceTag(tenant.id),
    tableTag(found.catalogue.id),
    ...found.apps.map(({ id }) => appTag(id)),
    ...(caller.ownApp ? [appTag(caller.ownApp.appId)] : []),
  ];
  return { value: found.value, tags };
}

/** The access, and the facts that explain why there is none. Null if the table does not exist. */
export async function decideTableAccess(
  deps: TableAccessDeps,
  tenant: TenantAccess,
  caller: Caller,
  ref: Pick<TableRef, 'app' | 'table'>,
) {
  const { db } = deps;
  if (!isTableRef(ref.table) || (caller.scope && caller.scope.tenantId !== tenant.id)) return null;
  const { userId, ownApp } = caller;
  const app =
    (await findAppOfTenant(db, tenant.id, { ref: ref.app, userId, ownApp })) ??
    // Other apps too: a grant may open their tables.
    (ownApp ? await findAppOfTenant(db, tenant.id, { ref: ref.app, userId }) : null);
  const catalogue = app && (await loadCatalogue(db, appRef({ tenant, app }), ref.table));
  if (!app || !catalogue) return null;
  const tableGrants = await listTableGrantEntries(db, catalogue.id);
  const { decide, apps, facts, governance } = await prepareAccessDecision(
    db,
    { tenant, app, caller },
    tableGrants,
  );
  const access = decide(catalogue, tableGrants);
  const governed = access && governance?.governed(catalogue, access);
  const value: TableAccess | null = access && {
    app,
    access,
    until: governance?.until(catalogue) ?? Number.POSITIVE_INFINITY,
    ...(governed && { governed }),
    ...(caller.scope && { refusal: tokenRefusal(caller.scope.actions) }),
    ...callerTables(catalogue, access, deps.maskKey.current()),
  };
  return { app, catalogue, apps, facts, value };
}

/** Says that it is the token that does not allow the action, so that nobody looks for the reason in the table. */
function tokenRefusal(actions: readonly string[]) {
  return (action: RowAction): Failure => {
    const required = action === 'read' || action === 'export' ? 'read' : 'write';
    return actions.includes(required)
      ? fail('forbidden')
      : fail('forbidden', { detail: `The token does not have the action ${required}.` });
  };
}

/** The table as the caller reads and as they export it. */
export function callerTables(catalogue: TableCatalogue, access: Access, maskKey: string) {
  const keys = tenantHashKeys(maskKey, catalogue.tenantId);
  const view = viewOf(access, 'read', catalogue, keys);
  const canRead = (column: CatalogueColumn) => view.columns?.some(({ source }) => source === column) ?? true;
  const isNamed = (column: CatalogueColumn) =>
    canRead(column) || isWritable(access, 'insert', column.name) || isWritable(access, 'update', column.name);
  return {
    table: rowTable(catalogue, view, isNamed),
    exportTable: rowTable(catalogue, viewOf(access, 'export', catalogue, keys)),
  };
}

/** Other texts are not looked up: PostgreSQL may reject them, and that error would reveal that the app exists. */
const isTableRef = (text: string) => isUuid(text) || namePattern.test(text);

export async function prepareAccessDecision(
  db: Db,
  { tenant, app, caller }: { tenant: TenantAccess; app: AppOfTenant; caller: Caller },
  grants: AccessFacts['tableGrants'],
) {
  const { userId, throughApp } = caller;
  const relatedApps = await findRelatedApps(db, tenant.id, caller, grants);
  const groups = await listGroupsOf(db, tenant.id, userId);
  const apps = [app, ...relatedApps];
  const through = apps.find(({ id }) => id === throughApp);
  const me: Me = {
    id: userId,
    email: caller.email,
    // A preview has the roles of its app.
    roles: await listRolesOf(db, { tenantId: tenant.id, appId: app.previewOf ?? app.id }, userId),
    groups,
    attributes: await loadMemberAttributes(db, tenant.id, userId),
  };
  const facts = {
    me,
    isApp: caller.kind === 'app' && caller.ownApp?.appId === app.id,
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
    ownApp: await loadOwnApp(db, caller),
    app,
    ownedApps: new Set(relatedApps.filter(({ relation }) => ownsApp(relation)).map(({ id }) => id)),
    groups: new Set(groups.map(({ id }) => id)),
  };
  const governance = await loadGovernance(db, { tenantId: tenant.id, app, caller, me });
  return {
    decide(catalogue: TableCatalogue, tableGrants: AccessFacts['tableGrants']): Access | null {
      const grants = governance?.grantsOn(catalogue) ?? [];
      const decideWith = (enforced: AccessFacts['enforced']) =>
        decideAccess({ ...facts, catalogue, rules: catalogue.rules, tableGrants, grants, enforced });
      const open = decideWith([]);
      // Only callers with access to the table learn that a policy does not fit.
      const enforced = (open && governance?.enforcedOn(catalogue)) ?? [];
      return enforced.length === 0 ? open : decideWith(enforced);
    },
    apps,
    facts,
    governance,
  };
}

async function findRelatedApps(
  db: Db,
  tenantId: string,
  { userId, throughApp }: Caller,
  grants: AccessFacts['tableGrants'],
): Promise<AppAccess[]> {
  const appGrants = grants.filter((grant) => grant.principalType === 'app');
  const ids = new Set(appGrants.map(({ principalId }) => principalId));
  if (throughApp !== undefined) ids.add(throughApp);
  const apps = await Promise.all([...ids].map((ref) => findAppOfTenant(db, tenantId, { ref, userId })));
  return apps.filter((app) => app !== null);
}

export function hasSameView(now: TableAccess, before: TableAccess): boolean {
  return (
    now.access === before.access ||
    (now.table.catalogue.id === before.table.catalogue.id && isDeepEqual(exportView(now), exportView(before)))
  );
}

const exportView = ({ exportTable: { view } }: TableAccess) => ({ rows: view.rows, columns: view.columns });
