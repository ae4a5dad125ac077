import { join } from 'node:path';
import pg from 'pg';
import type { Config } from '../../config.ts';
import { anchorsPath, findAuditBreaks, readAnchors } from '../../core/audit-verify.ts';
import { sqlState } from '../../core/db.ts';
import { verifyKeys } from '../../core/keys.ts';
import { withMasterKey } from '../../core/master-key.ts';
import { migrationsDirectory, readMigrations } from '../../core/migrate.ts';
import { attachDatabase } from '../../drivers/database/database.ts';
import type { AdminCtx } from '../command.ts';
import {
  adminUrl,
  compareMigrations,
  hasDatabase,
  hasTable,
  openAdminDatabase,
  readAppliedMigrations,
  withDatabase,
} from '../system.ts';
import { type DatabaseFacts, databaseCheck, errorText, type Finding, ok, problem, warning } from './check.ts';

const connectMsMax = 5_000;
const serverVersionMin = 150_000;

export async function withCheckedDatabase(
  ctx: AdminCtx,
  config: Config,
  work: (opened: Finding, facts: DatabaseFacts | null) => Promise<void>,
): Promise<void> {
  if (!hasDatabase(config)) {
    const hint = 'The first start of the server (npm start), or svc-admin migrate, creates it.';
    return await work(warning(`There is no database in ${config.dataDir} yet.`, hint), null);
  }
  let handled = false;
  try {
    if (config.databaseUrl) await (await connect(config.databaseUrl)).end();
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
    await work(problem(errorText(error), hintFor(config)), null);
  }
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: adminUrl(url), connectionTimeoutMillis: connectMsMax });
  client.on('error', () => {});
  try {
    await client.connect();
    return client;
  } catch (error) {
    await client.end().catch(() => {});
    throw error;
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

export const migrations = databaseCheck('migrations', async ({ control }) => {
  const applied = await readAppliedMigrations(control.pool);
  const state = compareMigrations(readMigrations(migrationsDirectory), applied);
  if (state.changed.length > 0) {
    return problem(
      `Changed after they were applied: ${state.changed.join(', ')}.`,
      'Restore the migration files of this version; schema changes need new migrations.',
    );
  }
  if (state.pending.length > 0) {
    return problem(
      `Not applied: ${state.pending.join(', ')}.`,
      'Run svc-admin migrate, or start the server.',
    );
  }
  if (state.unknown.length > 0) {
    return warning(
      `The database is newer than this version: it has ${state.unknown.join(', ')}.`,
      'Use the newest version that has used this database.',
    );
  }
  return ok(`All ${applied.length} are applied.`);
});

export const rowsRole = databaseCheck('rows role', async ({ database, control }) => {
  const tables = await control.pool.query<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname = 'svc' order by 1`,
  );
  const client = await connect(database.rowsUrl).catch(errorText);
  if (typeof client === 'string') {
    const detail = `The role that serves rows cannot log in: ${client}`;
    return problem(detail, 'Start the server, which repairs it.');
  }
  const names = tables.rows.map((row) => row.name);
  return checkRowsRole(client, names).finally(() => client.end().catch(() => {}));
});

async function checkRowsRole(client: pg.Client, tables: readonly string[]): Promise<Finding> {
  const { rows } = await client.query<{ user: string; powerful: boolean; enters: boolean }>(
    `select current_user as user, rolsuper or rolbypassrls or rolcreaterole as powerful,
       coalesce((select has_schema_privilege(oid, 'usage') from pg_namespace where nspname = 'svc'), false) as enters
     from pg_roles where rolname = current_user`,
  );
  const { user, powerful, enters } = rows[0] ?? { user: '?', powerful: true, enters: true };
  const readable: string[] = [];
  for (const table of tables) if (await canRead(client, table)) readable.push(table);
  const quoted = pg.escapeIdentifier(user);
  if (readable.length > 0) {
    return problem(
      `${user}, which serves rows, can read ${readable.join(', ')}.`,
      `revoke all on all tables in schema svc from ${quoted}, public; revoke all on schema svc from ${quoted}, public;`,
    );
  }
  if (enters) {
    return problem(
      `${user}, which serves rows, may use schema svc.`,
      `revoke all on schema svc from ${quoted}, public;`,
    );
  }
  if (powerful) {
    return problem(
      `${user}, which serves rows, has too many privileges.`,
      `alter role ${quoted} nosuperuser nobypassrls nocreaterole; or give SVC_DATA_DATABASE_URL another login.`,
    );
  }
  return ok(`${user} can log in and has no access to the control plane.`);
}

async function canRead(client: pg.Client, table: string): Promise<boolean> {
  try {
    await client.query(`select from ${table} limit 1`);
    return true;
  } catch (error) {
    if (['42501', '42P01', '3F000'].includes(sqlState(error) ?? '')) return false;
    throw error;
  }
}

const breaksShownMax = 20;

export const auditChains = databaseCheck('audit chains', async ({ config, control }) => {
  // Read before the snapshot, which then contains every anchored entry.
  const anchors = readAnchors(anchorsPath(config.dataDir));
  const snapshot = await control.db
    .startTransaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute();
  const breaks = await findAuditBreaks(snapshot, anchors).finally(() => snapshot.rollback().execute());
  if (breaks.length === 0) return ok(`Intact, and consistent with ${anchors.length} anchors.`);
  const shown = breaks.slice(0, breaksShownMax);
  if (breaks.length > shown.length) shown.push(`and ${breaks.length - shown.length} more`);
  return problem(
    `${breaks.length} breaks: ${shown.join('; ')}`,
    'The audit log was modified. Compare it with a backup, and check who has access to the database.',
  );
});

export const keys = databaseCheck('keys', async ({ config, control }) => {
  if (!(await hasTable(control.pool, 'svc.key_generations'))) return ok('There are none yet.');
  try {
    const { total, encrypted } = await verifyKeys(withMasterKey(control.db, config.masterKeyFile));
    if (total === 0) return ok('There are none yet.');
    if (encrypted === total) return ok(`All ${total} are encrypted with the master key.`);
    return warning(
      `${total - encrypted} of ${total} are stored unencrypted. Whoever reads the database or a backup has them.`,
      config.masterKeyFile
        ? 'The server encrypts them at its next start.'
        : 'Create a master key with svc-admin keys create-master-key --to <file>, set SVC_MASTER_KEY_FILE, and restart the server.',
    );
  } catch (error) {
    return problem(
      errorText(error),
      'Set SVC_MASTER_KEY_FILE to the file that the keys were encrypted with.',
    );
  }
});

const namedMax = 5;

export const openTables = databaseCheck('tables', async ({ control }) => {
  const { rows } = await control.pool.query(
    `select n.slug || '/' || a.slug || '/' || t.name as name, count(*) over ()::int as total
     from svc.app_tables t join svc.apps a on a.id = t.app_id join svc.tenants n on n.id = t.tenant_id
     where a.record <> 'deleted' and (t.rules->'update' ? 'any' or t.rules->'delete' ? 'any')
     order by 1 limit ${namedMax}`,
  );
  const [first] = rows;
  if (!first) return ok('No table lets every user of its app change every row.');
  return warning(
    `In ${first.total} ${first.total === 1 ? 'table' : 'tables'} every user of the app can change every row: ${rows.map(({ name }) => name).join(', ')}${first.total > rows.length ? ' …' : ''}`,
    'Tell the owners to set rules: svc tables access set.',
  );
});

export const tenantAdmins = databaseCheck('tenant admins', async ({ control }) => {
  const { rows } = await control.pool.query(
    `select n.slug, count(*) over ()::int as total from svc.tenants n
     where exists (select from svc.memberships m where m.tenant_id = n.id)
       and not exists (select from svc.memberships m join svc.users u on u.id = m.user_id
         where m.tenant_id = n.id and m.role = 'tenant_admin' and m.deactivated_at is null and u.status = 'active')
     order by 1 limit ${namedMax}`,
  );
  const [first] = rows;
  if (!first) return ok('Every tenant with members has an active admin.');
  return warning(
    `Without an active admin: ${rows.map(({ slug }) => slug).join(', ')}${first.total > rows.length ? ' …' : ''}`,
    'Appoint one, or activate one again: svc-admin members set --tenant <slug> --user <e-mail> --role tenant_admin.',
  );
});

export const outbox = databaseCheck('outbox', async ({ control }) => {
  const { rows } = await control.pool.query(
    `select count(*)::int as open, count(*) filter (where created_at < now() - interval '5 minutes')::int as late,
       min(created_at) as oldest, max(last_error) as error,
       exists (select from pg_stat_activity
         where datname = current_database() and application_name = 'svc queue') as served
     from svc.outbox where done_at is null`,
  );
  const { open, late, oldest, error, served } = rows[0];
  if (late === 0) return ok(`${open} effects are pending, none for longer than 5 minutes.`);
  const lastError = error ? ` The last error: ${error}` : '';
  const detail = `${late} effects have been pending for longer than 5 minutes, since ${oldest.toISOString()}.${lastError}`;
  return served
    ? problem(detail, "See the server's log for the cause.")
    : warning(detail, 'They are processed when a server runs.');
});
