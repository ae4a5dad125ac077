import * as shapes from '@svc/contract/access-policies.shapes.ts';
import * as endpoints from '@svc/contract/access-policies.ts';
import { versionEtag } from '../../http/headers.ts';
import { type Route, routes } from '../../http/router.ts';
import { createPolicy, deletePolicy, getPolicy, listPolicies, updatePolicy } from './policies.ts';
import type { PolicyEffects } from './policy-effects.ts';

export function accessPolicyRoutes({ policyEffects }: { policyEffects: PolicyEffects }): Route[] {
  const onePolicy = routes(
    endpoints,
    shapes,
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
    ...routes(endpoints, shapes, {
      listPolicies: (ctx, { query }) => listPolicies(ctx, query),
      deletePolicy: (ctx, { params, ifMatch }) =>
        deletePolicy(ctx, { policyId: params.policyID, ifMatch }, policyEffects),
    }),
  ];
}
