import { test } from 'bun:test';
import { needsMariaDb } from '../scripts/mariadb-server.ts';
import { previewOfConnector } from './suites/access-preview-model.ts';
import { hasMariaDb } from './support/warehouses.ts';

test.skipIf(!(hasMariaDb || needsMariaDb))('a preview of a table in MariaDB shows what the rows show', () =>
  previewOfConnector('mysql', { people: 20, rounds: 14 }),
);
