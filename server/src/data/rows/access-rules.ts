import type { AppOfTenant } from '../../apps/record/find-app.ts';
import { ownsApp, type TenantAccess, type TokenScope } from '../../core/context.ts';
import type { TableGrantEntry } from '../tables/grants-store.ts';

export interface RowAccess {
  read: boolean;
  write: boolean;
  ownRowsOf: string | null;
}

export interface AccessFacts {
  userId: string;
  role: TenantAccess['role'];
  through: { appId: string; visible: boolean } | null;
  scope: TokenScope | null;
  app: Pick<AppOfTenant, 'id' | 'relation' | 'record' | 'runtime'>;
  grants: readonly TableGrantEntry[];
  ownedApps: ReadonlySet<string>;
  groups: ReadonlySet<string>;
}

/** Null if the table does not exist for the caller. Owners act on all rows; others on their own rows. */
export function decideRowAccess(facts: AccessFacts): RowAccess | null {
  const access = personAccess(facts);
  if (!access || !facts.scope) return access;
  const { apps, actions } = facts.scope;
  if (apps.length > 0 && !apps.includes(facts.app.id)) return null;
  const limited = {
    ...access,
    read: access.read && actions.includes('read'),
    write: access.write && actions.includes('write'),
  };
  if (!limited.read && !limited.write) return null;
  // Tokens that programs of a suspended app still use elsewhere may not write. An archived app refuses everybody anyway.
  const isSuspended = facts.app.runtime === 'suspended' && facts.app.record === 'active';
  return isSuspended ? { ...limited, write: false } : limited;
}

function personAccess({
  userId,
  role,
  through,
  app,
  grants,
  ownedApps,
  groups,
}: AccessFacts): RowAccess | null {
  if (through) {
    if (!through.visible) return null;
    if (through.appId === app.id) return { read: true, write: true, ownRowsOf: userId };
    return grantedAccess(
      userId,
      grants.filter((grant) => grant.principalType === 'app' && grant.principalId === through.appId),
    );
  }
  if (ownsApp(app.relation)) return { read: true, write: true, ownRowsOf: null };
  return grantedAccess(
    userId,
    grants.filter(({ principalType, principalId }) => {
      if (principalType === 'user') return principalId === userId;
      if (principalType === 'app') return ownedApps.has(principalId);
      if (principalType === 'group') return groups.has(principalId);
      return principalId === 'tenant_member' || principalId === role;
    }),
  );
}

function grantedAccess(userId: string, grants: readonly TableGrantEntry[]): RowAccess | null {
  if (grants.length === 0) return null;
  const actions = new Set(grants.flatMap((grant) => grant.actions));
  return { read: actions.has('read'), write: actions.has('write'), ownRowsOf: userId };
}
