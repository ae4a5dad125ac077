import { join } from 'node:path';
import pg from 'pg';
import type { Config } from '../../config.ts';
import { attachDatabase } from '../../drivers/database/database.ts';
import type { AdminCtx } from '../command.ts';
import { adminUrl, hasDatabase, openAdminDatabase, withDatabase } from '../system.ts';
import { type DatabaseFacts, type Finding, messageOf, ok, problem, warning } from './check.ts';

const connectMsMax = 5_000;
const serverVersionMin = 150_000;

/** Opens the database for the checks that need it, or says why they get none. A doctor does not set anything up. */
export async function withCheckedDatabase(
  ctx: AdminCtx,
  config: Config,
  work: (opened: Finding, facts: DatabaseFacts | null) => Promise<void>,
): Promise<void> {
  if (!hasDatabase(config)) {
    const hint = 'The first start of the server (npm start), or svc-admin migrate, makes it.';
    return await work(warning(`There is no database in ${config.dataDir} yet.`, hint), null);
  }
  let handled = false;
  try {
    if (config.databaseUrl) await tryConnect(config.databaseUrl);
    await withDatabase(ctx, attachDatabase, async (database) => {
      const control = openAdminDatabase(database.controlUrl);
      try {
        const finding = await checkVersion(control, database.kind);
        handled = true;
        await work(finding, { config, database, control });
      } finally {
        await control.close();
      }
    });
  } catch (error) {
    if (handled) throw error;
    await work(problem(messageOf(error), hintFor(config)), null);
  }
}

/** Opening it as a server does would wait for a database that may be starting. */
async function tryConnect(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: adminUrl(url), connectionTimeoutMillis: connectMsMax });
  client.on('error', () => {});
  try {
    await client.connect();
  } finally {
    await client.end().catch(() => {});
  }
}

async function checkVersion(control: DatabaseFacts['control'], kind: string): Promise<Finding> {
  const { rows } = await control.pool.query<{ number: number; version: string }>(
    `select current_setting('server_version_num')::int as number, current_setting('server_version') as version`,
  );
  const { number, version } = rows[0] ?? { number: 0, version: 'of unknown version' };
  if (number >= serverVersionMin) return ok(`PostgreSQL ${version}, ${kind}, answers.`);
  return problem(`The database is PostgreSQL ${version}.`, 'Use PostgreSQL 15 or newer.');
}

function hintFor(config: Config): string {
  return config.databaseUrl
    ? 'Check SVC_DATABASE_URL, that the database runs, and that it lets this machine in.'
    : `See ${join(config.dataDir, 'postgres.log')}.`;
}
