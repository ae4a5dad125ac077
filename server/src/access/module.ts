import * as accessLogShapes from '@svc/contract/access-log.shapes.ts';
import * as accessLogEndpoints from '@svc/contract/access-log.ts';
import * as accessPoliciesShapes from '@svc/contract/access-policies.shapes.ts';
import * as accessPoliciesEndpoints from '@svc/contract/access-policies.ts';
import * as connectorsShapes from '@svc/contract/connectors.shapes.ts';
import * as connectorsEndpoints from '@svc/contract/connectors.ts';
import * as grantRequestsShapes from '@svc/contract/grant-requests.shapes.ts';
import * as grantRequestsEndpoints from '@svc/contract/grant-requests.ts';
import * as grantsShapes from '@svc/contract/grants.shapes.ts';
import * as grantsEndpoints from '@svc/contract/grants.ts';
import * as presetsShapes from '@svc/contract/presets.shapes.ts';
import * as presetsEndpoints from '@svc/contract/presets.ts';
import type { MutationCtx } from '../core/context.ts';
import type { OperatorDeps } from '../core/mutation.ts';
import { versionEtag } from '../http/headers.ts';
import type { Deps, Module } from '../http/module.ts';
import { type Route, route, routes } from '../http/router.ts';
import { onPerson } from '../people/person-events.ts';
import { onAccess } from './access-events.ts';
import { endConnectorOwnership } from './connectors/access-settings.ts';
import {
  type ConnectorDeps,
  connectorKey,
  createConnector,
  deleteConnector,
  getConnector,
  listConnectors,
  updateConnector,
} from './connectors/connectors.ts';
import { expireDueGrants, revokeGrant, revokeGrants } from './grants/end-grants.ts';
import {
  checkAccess,
  createGrant,
  getGrant,
  getMyGrantTerms,
  listGrants,
  listMyGrants,
  replaceGrantScope,
  requireAdminOrSelf,
} from './grants/grants.ts';
import { type AccessLog, createAccessLog, deleteOldEntries, listAccessLog } from './log/access-log.ts';
import { createPolicy, deletePolicy, getPolicy, listPolicies, updatePolicy } from './policies/policies.ts';
import { noPolicyEffects, type PolicyEffects } from './policies/rules.ts';
import { createPreset, deletePreset, getPreset, listPresets, updatePreset } from './presets/presets.ts';
import { cancelRequests, endDueRequests } from './requests/end-requests.ts';
import {
  approveGrantRequest,
  getGrantRequest,
  listGrantRequests,
  listRequestOptions,
  listRequestPolicies,
  rejectGrantRequest,
  requestGrant,
  withdrawGrantRequest,
} from './requests/requests.ts';

function accessLogRoutes(accessLog: AccessLog): Route[] {
  return routes(accessLogEndpoints, accessLogShapes, {
    listAccessLog: async (ctx, { query }) => {
      // Lists the entries of this process at once; those of other processes follow within a second.
      await accessLog.flush();
      return listAccessLog(ctx, query);
    },
  });
}

const grantRequestRoutes: Route[] = routes(grantRequestsEndpoints, grantRequestsShapes, {
  listGrantRequests: (ctx, { query }) => listGrantRequests(ctx, query),
  listRequestOptions,
  requestGrant: (ctx, { body }) => requestGrant(ctx, body),
  listRequestPolicies: (ctx, { params, query }) =>
    listRequestPolicies(ctx, { request: params.request, ...query }),
  getGrantRequest: (ctx, { params }) => getGrantRequest(ctx, params),
  approveGrantRequest: (ctx, { params, body }) =>
    approveGrantRequest(ctx, {
      request: params.request,
      reason: body?.reason ?? '',
      policies: body?.policy_ids ?? [],
    }),
  rejectGrantRequest: (ctx, { params, body }) =>
    rejectGrantRequest(ctx, { request: params.request, reason: body.reason }),
  withdrawGrantRequest: (ctx, { params }) => withdrawGrantRequest(ctx, params),
});

const grantRoutes: Route[] = [
  ...routes(grantsEndpoints, grantsShapes, {
    listMyGrants,
    getMyGrantTerms,
    listGrants: (ctx, { query }) => listGrants(ctx, query),
    createGrant: (ctx, { body }) => createGrant(ctx, body),
    getGrant: (ctx, { params }) => getGrant(ctx, { grantId: params.grantID }),
    replaceGrantScope: (ctx, { params, body }) =>
      replaceGrantScope(ctx, { grantId: params.grantID, scope: body }),
    revokeGrant: (ctx, { params, body }) =>
      revokeGrant(ctx, { grantId: params.grantID, reason: body?.reason ?? '' }),
  }),
  route(grantsEndpoints.checkAccess, grantsShapes.checkAccess, (ctx, { body }) => checkAccess(ctx, body), {
    beforeReplay: async (ctx, { body }) => requireAdminOrSelf(ctx, body),
  }),
];

function accessPolicyRoutes({ policyEffects }: { policyEffects: PolicyEffects }): Route[] {
  const onePolicy = routes(
    accessPoliciesEndpoints,
    accessPoliciesShapes,
    {
      createPolicy: (ctx, { body }) => createPolicy(ctx, body, policyEffects),
      getPolicy: (ctx, { params }) => getPolicy(ctx, { policyId: params.policyID }),
      replacePolicy: (ctx, { params, body, ifMatch }) =>
        updatePolicy(ctx, { policyId: params.policyID, set: body, ifMatch }, policyEffects),
      updatePolicy: (ctx, { params, body, ifMatch }) =>
        updatePolicy(ctx, { policyId: params.policyID, set: body, ifMatch }, policyEffects),
    },
    { etag: versionEtag },
  );
  return [
    ...onePolicy,
    ...routes(accessPoliciesEndpoints, accessPoliciesShapes, {
      listPolicies: (ctx, { query }) => listPolicies(ctx, query),
      deletePolicy: (ctx, { params, ifMatch }) =>
        deletePolicy(ctx, { policyId: params.policyID, ifMatch }, policyEffects),
    }),
  ];
}

const presetRoutes: Route[] = routes(presetsEndpoints, presetsShapes, {
  listPresets: (ctx, { query }) => listPresets(ctx, query),
  createPreset: (ctx, { body }) => createPreset(ctx, body),
  getPreset: (ctx, { params }) => getPreset(ctx, { preset: params.presetID }),
  updatePreset: (ctx, { params, body }) => updatePreset(ctx, { preset: params.presetID, set: body }),
  deletePreset: (ctx, { params }) => deletePreset(ctx, { preset: params.presetID }),
});

const connectorRoutes = (deps: ConnectorDeps): Route[] =>
  routes(connectorsEndpoints, connectorsShapes, {
    listConnectors: (ctx, { query }) => listConnectors(ctx, query),
    createConnector: (ctx, { body }) => createConnector(ctx, body, deps),
    getConnector: (ctx, { params }) => getConnector(ctx, { connector: params.connectorID }),
    updateConnector: (ctx, { params, body }) =>
      updateConnector(ctx, { connector: params.connectorID, set: body }, deps),
    deleteConnector: (ctx, { params }) => deleteConnector(ctx, { connector: params.connectorID }),
  });

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
        revokeGrants(ctx, { tenantId, subject: { kind: 'group', id }, reason: 'The group was deleted.' }),
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
  await revokeGrants(ctx, { tenantId, subject: { kind: 'user', id: user.id }, reason });
  await cancelRequests(ctx, { tenantId, of: { requestedBy: user.id }, reason });
  await endConnectorOwnership(ctx, member);
}
