import { test } from 'bun:test';
import { useTestDatabase } from '../../testing.ts';
import { changeSchemas } from './schema-pairs-testing.ts';

const database = useTestDatabase();

test('250 more random changes of a schema and back give the first one with its rows', () =>
  changeSchemas(database, { from: 251, pairs: 250 }));
