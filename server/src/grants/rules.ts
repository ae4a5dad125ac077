import { type GrantStatus, grantStates } from '@svc/contract/grants.ts';

/** Pure decisions about grants. */

export function mayReplaceScope(status: GrantStatus): boolean {
  return (grantStates.replaceScope as readonly GrantStatus[]).includes(status);
}

export function mayRevoke(status: GrantStatus): boolean {
  return (grantStates.revoke as readonly GrantStatus[]).includes(status);
}

/** `sales` covers `sales` and `sales/orders`; an empty path asks for the whole connector. */
export function covers(entry: string, path: string): boolean {
  return entry === path || (path !== '' && path.startsWith(`${entry}/`));
}

/** An empty scope is the whole connector. */
export function inScope(scope: readonly string[], path: string): boolean {
  return scope.length === 0 || scope.some((entry) => covers(entry, path));
}

export interface AccessQuestion {
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

export interface PolicyFacts {
  id: string;
  connectorId: string | null;
  resourcePath: string;
  actions: readonly string[];
  enabled: boolean;
}

export type AccessReason = 'granted' | 'no_active_grant' | 'action_not_in_preset' | 'out_of_scope';

/** Grants add up: one that fits is enough. The answer names what fits, and which of its policies apply. */
export function decideAccess(
  question: AccessQuestion,
  grants: readonly GrantFacts[],
  policies: readonly PolicyFacts[],
) {
  const ofConnector = grants.filter((grant) => grant.connectorId === question.connectorId);
  const withAction = ofConnector.filter((grant) => grant.actions.includes(question.action));
  const fitting = withAction.filter((grant) => inScope(grant.scope, question.resourcePath));
  const named = new Set(fitting.flatMap((grant) => grant.policyIds));
  const applying = policies.filter((policy) => named.has(policy.id) && applies(policy, question));
  return {
    allowed: fitting.length > 0,
    grant_ids: fitting.map((grant) => grant.id),
    policy_ids: applying.map((policy) => policy.id),
    reason: reasonFor(ofConnector.length, withAction.length, fitting.length),
  };
}

function reasonFor(ofConnector: number, withAction: number, fitting: number): AccessReason {
  if (fitting > 0) return 'granted';
  if (withAction > 0) return 'out_of_scope';
  return ofConnector > 0 ? 'action_not_in_preset' : 'no_active_grant';
}

function applies(policy: PolicyFacts, question: AccessQuestion): boolean {
  return (
    policy.enabled &&
    (policy.connectorId === null || policy.connectorId === question.connectorId) &&
    (policy.resourcePath === '' || covers(policy.resourcePath, question.resourcePath)) &&
    policy.actions.includes(question.action)
  );
}
