import { policyLeaks } from './suites/policy-leaks.ts';

policyLeaks({ attempts: 160, kinds: [] });
