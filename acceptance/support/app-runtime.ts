import pg from 'pg';
import { behind } from './database.ts';
import type { RunningServer } from './server.ts';

/** As a deployment would leave it: straight in the database, wherever that is. */
export async function setApp(
  server: RunningServer,
  app: string,
  set: {
    runtime?: 'none' | 'running' | 'suspended';
    isDeployed?: boolean;
    tier?: string;
    purgeAfter?: string;
  },
): Promise<void> {
  const text = `update svc.apps set runtime = coalesce($2, runtime), is_deployed = coalesce($3, is_deployed),
    resource_preset = coalesce($4, resource_preset), purge_after = coalesce($5, purge_after) where id = $1`;
  const values = [app, set.runtime ?? null, set.isDeployed ?? null, set.tier ?? null, set.purgeAfter ?? null];
  const { SVC_DATABASE_URL: url } = server.env;
  if (!url) {
    const database = behind(server);
    await database.query(text, values);
    return database.close();
  }
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(text, values);
  await client.end();
}
