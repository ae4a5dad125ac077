import type { Logger } from 'pino';
import { withClient } from '../drivers/database/connect.ts';
import type { Database } from '../drivers/database/database.ts';

/** The most that one opens: 20 for the control plane, 25 for rows, the rest for jobs and notifications. */
const connectionsPerWorker = 55;
const connectionsOfOthers = 10;

/** One more runs while workers are replaced. */
export const connectionsNeeded = (workers: number) =>
  connectionsPerWorker * (workers + 1) + connectionsOfOthers;

/** Fewer than requested where the database would refuse the connections of so many, unless the operator has chosen the number. */
export async function limitWorkers(
  requested: { count: number; isChosen: boolean },
  { kind, controlUrl }: Pick<Database, 'kind' | 'controlUrl'>,
  log: Logger,
): Promise<number> {
  const { count, isChosen } = requested;
  if (count === 1 || kind === 'embedded') return count;
  const connections = await withClient(controlUrl, async (client) => {
    const { rows } = await client.query<{ max: number }>(
      "select current_setting('max_connections')::int as max",
    );
    return rows[0]?.max ?? 0;
  });
  const needed = connectionsNeeded(count);
  if (needed <= connections) return count;
  const possible = Math.max(1, Math.floor((connections - connectionsOfOthers) / connectionsPerWorker) - 1);
  log.warn(
    { max_connections: connections, needed, workers: isChosen ? count : possible },
    isChosen
      ? 'the database may refuse connections of so many workers: raise max_connections, or lower SVC_WORKERS'
      : 'fewer workers than cores, because of max_connections of the database',
  );
  return isChosen ? count : possible;
}
