import { type accessReasons, type GrantStatus, grantStates } from '@svc/contract/grants.ts';

export function canReplaceScope(status: GrantStatus): boolean {
  return (grantStates.replaceScope as readonly GrantStatus[]).includes(status);
}

export function canRevoke(status: GrantStatus): boolean {
  return (grantStates.revoke as readonly GrantStatus[]).includes(status);
}

export function covers(entry: string, path: string): boolean {
  return entry === path || (path !== '' && path.startsWith(`${entry}/`));
}

export function isInScope(scope: readonly string[], path: string): boolean {
  return scope.length === 0 || scope.some((entry) => covers(entry, path));
}

export interface AccessRequest {
  connectorId: string;
  action: string;
  resourcePath: string;
}

export interface GrantFacts {
  id: string;
  connectorId: string;
  actions: readonly string[];
  scope: readonly string[];
  policyIds: readonly string[];
}

interface PolicyFacts {
  id: string;
  connectorId: string | null;
  resourcePath: string;
  actions: readonly string[];
  enabled: boolean;
}

type AccessReason = (typeof accessReasons)[number];

/** Grants are additive: one matching grant is enough. The result names the matching grants and policies. */
export function decideAccess(
  request: AccessRequest,
  grants: readonly GrantFacts[],
  policies: readonly PolicyFacts[],
) {
  const forConnector = grants.filter((grant) => grant.connectorId === request.connectorId);
  const withAction = forConnector.filter((grant) => grant.actions.includes(request.action));
  const inScope = withAction.filter((grant) => isInScope(grant.scope, request.resourcePath));
  const policyIds = new Set(inScope.flatMap((grant) => grant.policyIds));
  const applicable = policies.filter((policy) => policyIds.has(policy.id) && applies(policy, request));
  return {
    allowed: inScope.length > 0,
    grant_ids: inScope.map((grant) => grant.id),
    policy_ids: applicable.map((policy) => policy.id),
    reason: reasonFor(forConnector.length, withAction.length, inScope.length),
  };
}

function reasonFor(forConnector: number, withAction: number, inScope: number): AccessReason {
  if (inScope > 0) return 'granted';
  if (withAction > 0) return 'out_of_scope';
  return forConnector > 0 ? 'action_not_in_preset' : 'no_active_grant';
}

function applies(policy: PolicyFacts, request: AccessRequest): boolean {
  return (
    policy.enabled &&
    (policy.connectorId === null || policy.connectorId === request.connectorId) &&
    (policy.resourcePath === '' || covers(policy.resourcePath, request.resourcePath)) &&
    policy.actions.includes(request.action)
  );
}
