import { needsMariaDb } from '../scripts/mariadb-server.ts';
import { policyRevocation } from './suites/policy-revocation.ts';
import { hasPostgres15, needsPostgres15 } from './support/postgres15.ts';
import { startTwo } from './support/server.ts';
import { hasMariaDb } from './support/warehouses.ts';

const kinds = [
  ...(hasPostgres15 || needsPostgres15 ? (['postgres'] as const) : []),
  ...(hasMariaDb || needsMariaDb ? (['mysql'] as const) : []),
];
policyRevocation({
  start: startTwo,
  clientsCount: 4,
  kinds,
  only: kinds.flatMap((kind) => [
    `a grant on ${kind} that is revoked`,
    `a grant on ${kind} that expires`,
    `a group with a grant on ${kind} that is left`,
    `a policy on ${kind} that is enforced`,
  ]),
});
