import type { OperatorDeps } from '../core/mutation.ts';
import type { Module } from '../http/module.ts';
import { onPerson } from '../people/person-events.ts';
import { connectorRoutes } from './connectors/routes.ts';
import { expireDueGrants, revokeGrantsOf } from './grants/end-grants.ts';

import { grantRoutes } from './grants/routes.ts';
import { accessPolicyRoutes } from './policies/routes.ts';
import { presetRoutes } from './presets/routes.ts';

export const access: Module = {
  name: 'access',
  routes: () => [...connectorRoutes, ...presetRoutes, ...grantRoutes, ...accessPolicyRoutes],
  jobs: (deps: OperatorDeps) => [
    { name: 'grants.expire', cron: '* * * * *', run: () => expireDueGrants(deps) },
  ],
  subscriptions: () => [
    onPerson({
      leftTenant: (ctx, { tenantId, user: { id } }) =>
        revokeGrantsOf(ctx, { tenantId, subject: { kind: 'user', id }, reason: 'The member was removed.' }),
      deactivated: (ctx, { tenantId, user: { id } }) =>
        revokeGrantsOf(ctx, {
          tenantId,
          subject: { kind: 'user', id },
          reason: 'The member was deactivated.',
        }),
      groupDeleted: (ctx, { tenantId, group: { id } }) =>
        revokeGrantsOf(ctx, { tenantId, subject: { kind: 'group', id }, reason: 'The group was deleted.' }),
    }),
  ],
};
