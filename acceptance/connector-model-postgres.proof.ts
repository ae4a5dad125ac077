import { test } from 'bun:test';
import { connectorModel } from './suites/connector-model.ts';
import { hasPostgres15 } from './support/postgres15.ts';

test.if(hasPostgres15)('grants, policies and groups mean what the model says, on PostgreSQL', () =>
  connectorModel('postgres', { rounds: 80, requestsPerRound: 250 }),
);
