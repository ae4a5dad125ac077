import { test } from 'bun:test';
import { needsMariaDb } from '../scripts/mariadb-server.ts';
import { connectorModel } from './suites/connector-model.ts';
import { hasMariaDb } from './support/warehouses.ts';

test.skipIf(!(hasMariaDb || needsMariaDb))(
  'grants, policies and groups mean what the model says, on MariaDB',
  () => connectorModel('mysql', { rounds: 60, requestsPerRound: 40 }),
);
