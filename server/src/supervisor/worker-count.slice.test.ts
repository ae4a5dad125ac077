import { expect, test } from 'bun:test';
import { createLog } from '../core/log.ts';
import { withClient } from '../drivers/database/connect.ts';
import { useTestDatabase } from '../testing.ts';
import { connectionsNeeded, limitWorkers } from './worker-count.ts';

const database = useTestDatabase();

test('so many workers run as the database has connections for, unless the operator has chosen the number', async () => {
  const [setting] = await withClient(database.url, async (client) => {
    const { rows } = await client.query<{ max: number }>(
      "select current_setting('max_connections')::int as max",
    );
    return rows;
  });
  const max = setting?.max ?? 0;
  const lines: { msg: string; needed: number; workers: number }[] = [];
  const log = createLog({ level: 'info', write: (line) => lines.push(JSON.parse(line)) });
  const limit = (count: number, isChosen: boolean, kind: 'embedded' | 'external' = 'external') =>
    limitWorkers({ count, isChosen }, { kind, controlUrl: database.url }, log);
  // Its connections are the embedded database's own matter, and one worker always runs.
  expect([await limit(1_000, false, 'embedded'), await limit(1, false), lines]).toEqual([1_000, 1, []]);
  const possible = await limit(1_000, false);
  expect(connectionsNeeded(possible + 1)).toBeGreaterThan(max);
  if (possible > 1) expect(connectionsNeeded(possible)).toBeLessThanOrEqual(max);
  expect(await limit(1_000, true)).toBe(1_000);
  expect(lines).toMatchObject([
    { msg: expect.stringContaining('fewer workers than cores'), workers: possible, max_connections: max },
    {
      msg: expect.stringContaining('raise max_connections, or lower SVC_WORKERS'),
      workers: 1_000,
      needed: connectionsNeeded(1_000),
    },
  ]);
});
