import type { MutationCtx } from '../core/context.ts';
import type { OperatorDeps } from '../core/mutation.ts';
import type { Deps, Module } from '../http/module.ts';
import { onPerson } from '../people/person-events.ts';
import { onAccess } from './access-events.ts';
import { endConnectorOwnership } from './connectors/access-settings.ts';
import type { ConnectorDeps } from './connectors/connectors.ts';
import { connectorKey } from './connectors/password.ts';
import { connectorRoutes } from './connectors/routes.ts';
import { expireDueGrants, revokeGrantsOf } from './grants/end-grants.ts';
import { grantRoutes } from './grants/routes.ts';
import { type AccessLog, createAccessLog, deleteOldEntries } from './log/access-log.ts';
import { accessLogRoutes } from './log/routes.ts';
import { noPolicyEffects, type PolicyEffects } from './policies/policy-effects.ts';
import { accessPolicyRoutes } from './policies/routes.ts';
import { presetRoutes } from './presets/routes.ts';
import { cancelRequests, endDueRequests } from './requests/end-requests.ts';
import { grantRequestRoutes } from './requests/routes.ts';

export interface AccessServices {
  accessLog: AccessLog;
  policyEffects: PolicyEffects;
}

export const access: Module = {
  name: 'access',
  keys: [connectorKey],
  open: (deps: Deps): AccessServices => {
    const accessLog = createAccessLog(deps);
    deps.onStop(() => accessLog.stop());
    return { accessLog, policyEffects: noPolicyEffects() };
  },
  routes: (deps: Deps & AccessServices & ConnectorDeps) => [
    ...connectorRoutes(deps),
    ...presetRoutes,
    ...grantRoutes,
    ...grantRequestRoutes,
    ...accessPolicyRoutes(deps),
    ...accessLogRoutes(deps.accessLog),
  ],
  jobs: (deps: OperatorDeps & Pick<Deps, 'now'>) => [
    { name: 'grants.expire', cron: '* * * * *', run: () => expireDueGrants(deps) },
    { name: 'grantRequests.expire', cron: '* * * * *', run: () => endDueRequests(deps) },
    { name: 'accessLog.sweep', cron: '7 4 * * *', run: () => deleteOldEntries(deps.db, { now: deps.now() }) },
  ],
  subscriptions: () => [
    onPerson({
      leftTenant: (ctx, member) => endAccessOf(ctx, member, 'The member was removed.'),
      deactivated: (ctx, member) => endAccessOf(ctx, member, 'The member was deactivated.'),
      groupDeleted: (ctx, { tenantId, group: { id } }) =>
        revokeGrantsOf(ctx, { tenantId, subject: { kind: 'group', id }, reason: 'The group was deleted.' }),
    }),
    onAccess({
      connectorDeleted: (ctx, { tenantId, connectorId }) =>
        cancelRequests(ctx, { tenantId, of: { connectorId }, reason: 'The connector was deleted.' }),
    }),
  ],
};

async function endAccessOf(
  ctx: MutationCtx,
  member: { tenantId: string; user: { id: string } },
  reason: string,
): Promise<void> {
  const { tenantId, user } = member;
  await revokeGrantsOf(ctx, { tenantId, subject: { kind: 'user', id: user.id }, reason });
  await cancelRequests(ctx, { tenantId, of: { requestedBy: user.id }, reason });
  await endConnectorOwnership(ctx, member);
}
