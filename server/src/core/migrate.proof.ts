import { beforeAll, test } from 'bun:test';
import { testDatabase } from '../drivers/database/testing.ts';
import { expectSameSchemaAfterKills } from './migrate-testing.ts';

beforeAll(async () => {
  await testDatabase();
});

test('migrations killed fifty times give the same schema as one run', () => expectSameSchemaAfterKills(50));
