import { expect, test } from 'bun:test';
import { withClient } from './connect.ts';
import { testDatabase } from './testing.ts';

test('a statement ends at its time limit', async () => {
  const { controlUrl } = await testDatabase();
  const sleep = withClient(controlUrl, (client) => client.query('select pg_sleep(5)'), { queryMsMax: 200 });
  await expect(sleep).rejects.toThrow('timeout');
});
