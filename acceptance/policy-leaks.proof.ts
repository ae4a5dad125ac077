import { policyLeaks } from './suites/policy-leaks.ts';
import { availableKinds } from './support/warehouses.ts';

policyLeaks({ attempts: 2_000, kinds: availableKinds });
