import { type ClientBase, escapeIdentifier as ident, escapeLiteral as literal } from 'pg';
import { withSchemaLock } from '../../core/migrate.ts';
import { superuser } from './cluster.ts';
import { withClient } from './connect.ts';
import type { ClusterUse } from './data-dir.ts';
import { connectionUrl, type Endpoint } from './endpoint.ts';
import { type Credentials, scramVerifier } from './passwords.ts';

const database = 'svc';
const controlRole = 'svc_control';
const rowsRole = 'svc_rows';

export function embeddedUrls(endpoint: Endpoint, credentials: Credentials) {
  const admin = { user: superuser, password: credentials.superuser, database: 'postgres' };
  return {
    adminUrl: connectionUrl(endpoint, admin),
    controlUrl: connectionUrl(endpoint, { user: controlRole, password: credentials.control, database }),
    rowsUrl: connectionUrl(endpoint, { user: rowsRole, password: credentials.rows, database }),
  };
}

export async function prepareRoles(
  endpoint: Endpoint,
  credentials: Credentials,
  use: ClusterUse,
): Promise<void> {
  const { adminUrl, controlUrl } = embeddedUrls(endpoint, credentials);
  await withClient(adminUrl, async (admin) => {
    await admin.query(roleSql(controlRole, 'createrole createdb', credentials.control));
    if (use === 'control_plane')
      await admin.query(roleSql(rowsRole, 'nocreaterole nocreatedb', credentials.rows));
    const found = await admin.query('select from pg_database where datname = $1', [database]);
    if (found.rowCount === 0) await admin.query(`create database ${database} owner ${controlRole}`);
    // By default PostgreSQL lets every role connect to every database.
    await admin.query(`revoke all on database postgres, template1, ${database} from public`);
    if (use === 'control_plane') await admin.query(`grant connect on database ${database} to ${rowsRole}`);
  });
  const inDatabase = connectionUrl(endpoint, { user: superuser, password: credentials.superuser, database });
  await withClient(inDatabase, (admin) => admin.query('revoke all on schema public from public'));
  if (use === 'control_plane')
    await withClient(controlUrl, (control) => preparePlatformKeys(control, async () => {}));
}

function roleSql(name: string, rights: string, password: string): string {
  return `
    do $$ begin
      if not exists (select from pg_roles where rolname = ${literal(name)}) then
        create role ${ident(name)};
      end if;
    end $$;
    alter role ${ident(name)} login nosuperuser noreplication nobypassrls ${rights}
      password ${literal(scramVerifier(password))};
    -- The detail of an error quotes whole rows, which are users' data.
    alter role ${ident(name)} set log_error_verbosity = 'terse'`;
}

/** `create … if not exists` fails when replicas start at the same time, so this runs under the migration lock. */
export async function preparePlatformKeys<T>(client: ClientBase, work: () => Promise<T>): Promise<T> {
  return await withSchemaLock(client, async () => {
    await client.query(`
      create schema if not exists svc;
      create table if not exists svc.platform_keys (
        name text primary key,
        value text not null,
        created_at timestamptz default now()
      )`);
    return await work();
  });
}

export async function readOrCreatePlatformKey(
  client: ClientBase,
  name: string,
  makeValue: () => string,
): Promise<string> {
  const select = 'select value from svc.platform_keys where name = $1';
  const found = await client.query<{ value: string }>(select, [name]);
  if (found.rows[0]) return found.rows[0].value;
  const value = makeValue();
  await client.query('insert into svc.platform_keys (name, value) values ($1, $2)', [name, value]);
  return value;
}
