import { escapeIdentifier as ident, escapeLiteral as literal } from 'pg';
import { superuser } from './cluster.ts';
import { withClient } from './connect.ts';
import type { Credentials } from './credentials.ts';
import type { ClusterUse } from './embedded-place.ts';
import { connectionUrl, type Endpoint } from './endpoint.ts';
import { preparePlatformKeys } from './platform-keys.ts';
import { scramVerifier } from './scram.ts';

const database = 'svc';
const controlRole = 'svc_control';
const rowsRole = 'svc_rows';

export function embeddedUrls(endpoint: Endpoint, credentials: Credentials) {
  return {
    adminUrl: connectionUrl(endpoint, {
      user: superuser,
      password: credentials.superuser,
      database: 'postgres',
    }),
    controlUrl: connectionUrl(endpoint, { user: controlRole, password: credentials.control, database }),
    rowsUrl: connectionUrl(endpoint, { user: rowsRole, password: credentials.rows, database }),
  };
}

/** Brings roles, database and rights to what this release needs. Done on each start, so it may be cut off anywhere. */
export async function prepareRoles(
  endpoint: Endpoint,
  credentials: Credentials,
  use: ClusterUse,
): Promise<void> {
  const { adminUrl, controlUrl } = embeddedUrls(endpoint, credentials);
  await withClient(adminUrl, async (admin) => {
    // It makes roles and databases for apps later on, but nothing lets it out of PostgreSQL into the machine.
    await admin.query(roleSql(controlRole, 'createrole createdb', credentials.control));
    if (use === 'control_plane')
      await admin.query(roleSql(rowsRole, 'nocreaterole nocreatedb', credentials.rows));
    const found = await admin.query('select from pg_database where datname = $1', [database]);
    if (found.rowCount === 0) await admin.query(`create database ${database} owner ${controlRole}`);
    // PostgreSQL lets every role into every database unless told otherwise.
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
    -- The detail of an error quotes whole rows, and those are our users'.
    alter role ${ident(name)} set log_error_verbosity = 'terse'`;
}
