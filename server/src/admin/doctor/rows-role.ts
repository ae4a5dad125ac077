import pg from 'pg';
import { sqlState } from '../../plumbing/database-errors.ts';
import { adminUrl } from '../system.ts';
import { type Check, type Finding, messageOf, ok, problem } from './check.ts';

/** The login that serves rows must not reach the control plane, whatever is asked of it: so it is asked. */
export const rowsRole: Check = {
  name: 'rows role',
  needs: 'database',
  run: async ({ database, control }) => {
    const tables = await control.pool.query<{ name: string }>(
      `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname = 'svc' order by 1`,
    );
    const client = new pg.Client({
      connectionString: adminUrl(database.rowsUrl),
      connectionTimeoutMillis: 5_000,
    });
    client.on('error', () => {});
    try {
      await client.connect();
    } catch (error) {
      return problem(
        `The role that serves rows can not log in: ${messageOf(error)}`,
        'Start the server: it repairs it.',
      );
    }
    try {
      return await judge(
        client,
        tables.rows.map((row) => row.name),
      );
    } finally {
      await client.end().catch(() => {});
    }
  },
};

async function judge(client: pg.Client, tables: readonly string[]): Promise<Finding> {
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
      `${user}, which serves rows, may enter schema svc.`,
      `revoke all on schema svc from ${quoted}, public;`,
    );
  }
  if (powerful) {
    return problem(
      `${user}, which serves rows, is a powerful role.`,
      `alter role ${quoted} nosuperuser nobypassrls nocreaterole; or give SVC_DATA_DATABASE_URL another login.`,
    );
  }
  return ok(`${user} logs in and reaches nothing of the control plane.`);
}

async function canRead(client: pg.Client, table: string): Promise<boolean> {
  try {
    await client.query(`select from ${table} limit 1`);
    return true;
  } catch (error) {
    // Not permitted; or, where rows are on another server, not there.
    if (['42501', '42P01', '3F000'].includes(sqlState(error) ?? '')) return false;
    throw error;
  }
}
