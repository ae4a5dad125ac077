import { test } from 'bun:test';
import { previewOfConnector } from './suites/access-preview-model.ts';
import { hasMariaDb } from './support/warehouses.ts';

test.if(hasMariaDb)('a preview of a table in MariaDB shows what the rows show', () =>
  previewOfConnector('mysql', { people: 20, rounds: 14 }),
);
