import { policyRevocation } from './suites/policy-revocation.ts';
import { startTwo } from './support/server.ts';
import { availableKinds } from './support/warehouses.ts';

policyRevocation({
  start: startTwo,
  clientsCount: 4,
  kinds: availableKinds,
  only: availableKinds.flatMap((kind) => [
    `a grant on ${kind} that is revoked`,
    `a grant on ${kind} that expires`,
    `a group with a grant on ${kind} that is left`,
    `a policy on ${kind} that is enforced`,
  ]),
});
