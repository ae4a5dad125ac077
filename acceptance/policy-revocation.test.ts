import { policyRevocation } from './suites/policy-revocation.ts';
import { sharedServer } from './support/server.ts';

policyRevocation({
  start: async () => [await sharedServer()],
  clientsCount: 2,
  only: ['a grant that is revoked', 'a role that is removed', 'a policy that is enforced'],
});
