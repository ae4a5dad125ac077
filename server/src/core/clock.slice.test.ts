import { beforeAll, expect, test } from 'bun:test';
import { withClient } from '../drivers/database/connect.ts';
import { testDatabase } from '../drivers/database/testing.ts';
import { checkClock } from './migrate.ts';

let url: string;
beforeAll(async () => {
  url = (await testDatabase()).controlUrl;
});

const check = (aheadMs: number) =>
  withClient(url, (client) => checkClock(client, () => Date.now() + aheadMs));

test('a server starts when its clock agrees with that of the database', async () => {
  expect(await check(0)).toBeUndefined();
});

test.each([
  [7_200_000, '7200 s ahead of'],
  [-7_200_000, '7200 s behind'],
])('a clock that is wrong by two hours (%d ms) is an error that says what to do', async (ms, words) => {
  const error = await check(ms).catch(String);
  expect(error).toContain(words);
  expect(error).toContain('NTP');
});
