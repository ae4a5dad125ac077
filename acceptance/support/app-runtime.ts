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
    visibility?: 'private' | 'invite_only' | 'public' | 'internet';
  },
): Promise<void> {
  const text = `update svc.apps set runtime = coalesce($2, runtime), is_deployed = coalesce($3, is_deployed),
    resource_preset = coalesce($4, resource_preset), purge_after = coalesce($5, purge_after),
    visibility = coalesce($6, visibility) where id = $1`;
  const { runtime, isDeployed, tier, purgeAfter, visibility } = set;
  const values = [app, ...[runtime, isDeployed, tier, purgeAfter, visibility].map((value) => value ?? null)];
  await onDatabase(server, text, values);
}

/** One statement on the server's own database, wherever that is. */
export async function onDatabase(server: RunningServer, text: string, values: unknown[]): Promise<void> {
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
