import { freePort } from '../../scripts/free-port.ts';
import { startPostgres15 as startCluster } from '../../server/src/drivers/database/testing.ts';
import { temporaryFolder } from './server.ts';

export { hasPostgres15 } from '../../server/src/drivers/database/testing.ts';

export type Postgres15 = Awaited<ReturnType<typeof startPostgres15>>;

/** `config`: more settings of the server, such as `ssl=on`. */
export async function startPostgres15(config: (folder: string) => string[] = () => []) {
  const [folder, port] = [temporaryFolder(), freePort()];
  const { stop, start } = await startCluster(folder, { port, settings: config(folder) });
  /** Connects as a superuser; the database `postgres` exists. */
  const url = (database: string) => `postgresql://postgres:secret@127.0.0.1:${port}/${database}`;
  return { port, url, stop, start };
}
