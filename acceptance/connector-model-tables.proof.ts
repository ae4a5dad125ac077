import { test } from 'bun:test';
import { connectorModel } from './suites/connector-model.ts';

test('grants, policies and groups mean what the model says, on tables of an app behind a connector', () =>
  connectorModel('tables', { rounds: 80, requestsPerRound: 250 }));
