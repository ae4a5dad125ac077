import { test } from 'bun:test';
import { useTestDatabase } from '../../testing.ts';
import { changeSchemas } from './schema-pairs-testing.ts';

const database = useTestDatabase();

test('500 random changes of a schema and back give the first one with its rows, and failures change nothing', () =>
  changeSchemas(database, { from: 1, pairs: 500 }));
