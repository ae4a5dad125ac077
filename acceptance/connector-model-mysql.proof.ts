import { test } from 'bun:test';
import { connectorModel } from './suites/connector-model.ts';
import { hasMariaDb } from './support/warehouses.ts';

test.if(hasMariaDb)('grants, policies and groups mean what the model says, on MariaDB', () =>
  connectorModel('mysql', { rounds: 80, requestsPerRound: 250 }),
);
