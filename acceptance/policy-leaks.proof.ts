import { needsMariaDb } from '../scripts/mariadb-server.ts';
import { policyLeaks } from './suites/policy-leaks.ts';
import { hasPostgres15, needsPostgres15 } from './support/postgres15.ts';
import { hasMariaDb } from './support/warehouses.ts';

const kinds = [
  ...(hasPostgres15 || needsPostgres15 ? (['postgres'] as const) : []),
  ...(hasMariaDb || needsMariaDb ? (['mysql'] as const) : []),
];
policyLeaks({ attempts: 800, kinds });
