import * as shapes from '@svc/contract/access-policies.shapes.ts';
import * as endpoints from '@svc/contract/access-policies.ts';
import { etagOf } from '../plumbing/etag.ts';
import { type Route, route } from '../plumbing/route.ts';
import { createPolicy } from './create-policy.ts';
import { deletePolicy } from './delete-policy.ts';
import { getPolicy } from './get-policy.ts';
import { listPolicies } from './list-policies.ts';
import { updatePolicy } from './update-policy.ts';

const etag = etagOf;

export const accessPolicyRoutes: Route[] = [
  route(endpoints.listPolicies, shapes.listPolicies, (ctx, { query }) => listPolicies(ctx, query)),
  route(endpoints.createPolicy, shapes.createPolicy, (ctx, { body }) => createPolicy(ctx, body), {
    etag,
  }),
  route(
    endpoints.getPolicy,
    shapes.getPolicy,
    (ctx, { params }) => getPolicy(ctx, { policyId: params.policyID }),
    { etag },
  ),
  route(
    endpoints.replacePolicy,
    shapes.replacePolicy,
    (ctx, { params, body, ifMatch }) => updatePolicy(ctx, { policyId: params.policyID, set: body, ifMatch }),
    { etag },
  ),
  route(
    endpoints.updatePolicy,
    shapes.updatePolicy,
    (ctx, { params, body, ifMatch }) => updatePolicy(ctx, { policyId: params.policyID, set: body, ifMatch }),
    { etag },
  ),
  route(endpoints.deletePolicy, shapes.deletePolicy, (ctx, { params, ifMatch }) =>
    deletePolicy(ctx, { policyId: params.policyID, ifMatch }),
  ),
];
