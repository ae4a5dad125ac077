import type { AppOfTenant } from '../apps/find-app-of-tenant.ts';
import type { TenantAccess, TokenScope } from '../plumbing/context.ts';
import { ownsApp } from '../plumbing/is-enough.ts';

/** What one caller may do with the rows of one table. */
export interface RowAccess {
  read: boolean;
  write: boolean;
  /** The user whose rows are the only ones there are for this caller, where the table has an owner column. */
  ownRowsOf: string | null;
}

export interface AccessFacts {
  userId: string;
  role: TenantAccess['role'];
  /** The app through which the user signed in, and whether it is one that they can see. */
  through: { appId: string; visible: boolean } | null;
  /** Of a personal access token. */
  scope: TokenScope | null;
  app: Pick<AppOfTenant, 'id' | 'relation' | 'record' | 'runtime'>;
  grants: readonly GrantFact[];
  /** Apps that the user owns or co-owns, of those that grants name. */
  ownedApps: ReadonlySet<string>;
}

export interface GrantFact {
  principalType: 'user' | 'app' | 'role';
  principalId: string;
  actions: readonly ('read' | 'write')[];
}

/**
 * Null: for this caller the table does not exist. Owners, logged in or by a token of theirs, act on all rows; whoever
 * comes through an app or by a grant acts on their own.
 */
export function rowAccess(facts: AccessFacts): RowAccess | null {
  const access = ofPerson(facts);
  if (!access || !facts.scope) return access;
  const { apps, actions } = facts.scope;
  if (apps.length > 0 && !apps.includes(facts.app.id)) return null;
  const limited = {
    ...access,
    read: access.read && actions.includes('read'),
    write: access.write && actions.includes('write'),
  };
  if (!limited.read && !limited.write) return null;
  // What an app that is stopped leaves running elsewhere does not go on writing for it; people do. Archiving stops it
  // too, and then refuses everybody alike.
  const isSuspended = facts.app.runtime === 'suspended' && facts.app.record === 'active';
  return isSuspended ? { ...limited, write: false } : limited;
}

function ofPerson({ userId, role, through, app, grants, ownedApps }: AccessFacts): RowAccess | null {
  if (through) {
    if (!through.visible) return null;
    if (through.appId === app.id) return { read: true, write: true, ownRowsOf: userId };
    return byGrants(
      userId,
      grants.filter((grant) => grant.principalType === 'app' && grant.principalId === through.appId),
    );
  }
  if (ownsApp(app.relation)) return { read: true, write: true, ownRowsOf: null };
  return byGrants(
    userId,
    grants.filter(({ principalType, principalId }) => {
      if (principalType === 'user') return principalId === userId;
      if (principalType === 'app') return ownedApps.has(principalId);
      return principalId === 'tenant_member' || principalId === role;
    }),
  );
}

function byGrants(userId: string, grants: readonly GrantFact[]): RowAccess | null {
  if (grants.length === 0) return null;
  const actions = new Set(grants.flatMap((grant) => grant.actions));
  return { read: actions.has('read'), write: actions.has('write'), ownRowsOf: userId };
}
