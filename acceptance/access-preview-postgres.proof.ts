import { test } from 'bun:test';
import { previewOfConnector } from './suites/access-preview-model.ts';
import { hasPostgres15 } from './support/postgres15.ts';

test.if(hasPostgres15)('a preview of a table in PostgreSQL shows what the rows show', () =>
  previewOfConnector('postgres', { people: 20, rounds: 17 }),
);
