import { policyRevocation } from './suites/policy-revocation.ts';
import { startTwo } from './support/server.ts';

policyRevocation({ start: startTwo, clientsCount: 8 });
