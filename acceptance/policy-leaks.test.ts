import { policyLeaks } from './suites/policy-leaks.ts';

policyLeaks({ attempts: 110, kinds: [] });
