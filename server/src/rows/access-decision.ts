import { type AppOfTenant, findAppOfTenant } from '../apps/find-app-of-tenant.ts';
import { reaches } from '../apps/rules.ts';
import type { AppAccess, Caller, TenantAccess } from '../plumbing/context.ts';
import type { Db } from '../plumbing/db.ts';
import { ownsApp } from '../plumbing/is-enough.ts';
import { type GrantFact, type RowAccess, rowAccess } from './access-rules.ts';

export interface AccessDecision {
  /** About one table of the app, by its grants; null where for this caller there is no such table. */
  decide(grants: readonly GrantFact[]): RowAccess | null;
  /** All apps that it rests on, the tables' own first. */
  apps: readonly AppAccess[];
}

/** What a caller may do with tables of an app. `grants` are those of all the tables that will be asked about. */
export async function accessDecision(
  db: Db,
  { tenant, app, caller }: { tenant: TenantAccess; app: AppOfTenant; caller: Caller },
  grants: readonly GrantFact[],
): Promise<AccessDecision> {
  const { userId, throughApp } = caller;
  const others = await otherApps(db, tenant.id, caller, grants);
  const apps = [app, ...others];
  const through = apps.find(({ id }) => id === throughApp);
  const facts = {
    userId,
    role: tenant.role,
    // Signed in through an app that is gone: then it is one that can not be seen.
    through:
      throughApp === undefined
        ? null
        : {
            appId: throughApp,
            // An admin governs every app, but is no user of one that does not reach them.
            visible: !!through && reaches(through.visibility, through.relation, 'tenant_member'),
          },
    scope: caller.scope ?? null,
    app,
    ownedApps: new Set(others.filter(({ relation }) => ownsApp(relation)).map(({ id }) => id)),
  };
  return { decide: (grants) => rowAccess({ ...facts, grants }), apps };
}

/** Apps beside the tables' own that the decision rests on. */
async function otherApps(
  db: Db,
  tenantId: string,
  { userId, throughApp }: Caller,
  grants: readonly GrantFact[],
): Promise<AppAccess[]> {
  const ids = new Set(
    grants.filter((grant) => grant.principalType === 'app').map(({ principalId }) => principalId),
  );
  if (throughApp !== undefined) ids.add(throughApp);
  const apps = await Promise.all([...ids].map((ref) => findAppOfTenant(db, tenantId, { ref, userId })));
  return apps.filter((app) => app !== null);
}
