import * as shapes from '@svc/contract/access-policies.shapes.ts';
import * as endpoints from '@svc/contract/access-policies.ts';
import { type Route, tenantChange, tenantRead } from '../plumbing/route.ts';
import { createPolicy } from './create-policy.ts';
import { deletePolicy } from './delete-policy.ts';
import { getPolicy } from './get-policy.ts';
import { listPolicies } from './list-policies.ts';
import { policyEtag } from './rules.ts';
import { updatePolicy } from './update-policy.ts';

const etag = policyEtag;

export const accessPolicyRoutes: Route[] = [
  tenantRead(endpoints.listPolicies, shapes.listPolicies, (ctx, { query }) => listPolicies(ctx, query)),
  tenantChange(endpoints.createPolicy, shapes.createPolicy, (ctx, { body }) => createPolicy(ctx, body), {
    etag,
  }),
  tenantRead(
    endpoints.getPolicy,
    shapes.getPolicy,
    (ctx, { params }) => getPolicy(ctx, { policyId: params.policyID }),
    { etag },
  ),
  tenantChange(
    endpoints.replacePolicy,
    shapes.replacePolicy,
    (ctx, { params, body, ifMatch }) => updatePolicy(ctx, { policyId: params.policyID, set: body, ifMatch }),
    { etag },
  ),
  tenantChange(
    endpoints.updatePolicy,
    shapes.updatePolicy,
    (ctx, { params, body, ifMatch }) => updatePolicy(ctx, { policyId: params.policyID, set: body, ifMatch }),
    { etag },
  ),
  tenantChange(endpoints.deletePolicy, shapes.deletePolicy, (ctx, { params, ifMatch }) =>
    deletePolicy(ctx, { policyId: params.policyID, ifMatch }),
  ),
];
