import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ClientBase, escapeIdentifier as ident, escapeLiteral as literal } from 'pg';
import { z } from 'zod';
import { withSchemaLock } from '../../core/migrate.ts';
import { writeDurably } from '../os/files.ts';
import { type ClusterUse, superuser } from './cluster.ts';
import { connectionUrl, DatabaseError, type Endpoint, withClient } from './connect.ts';

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

export async function prepareRoles(endpoint: Endpoint, credentials: Credentials, use: ClusterUse) {
  const inDatabase = connectionUrl(endpoint, { user: superuser, password: credentials.superuser, database });
  if (await arePrepared(inDatabase, credentials, use)) return;
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
  await withClient(inDatabase, (admin) => admin.query('revoke all on schema public from public'));
  if (use === 'control_plane')
    await withClient(controlUrl, (control) => preparePlatformKeys(control, async () => {}));
}

/** False also if the check fails. It takes one connection; writing roles takes three and five commits. */
async function arePrepared(url: string, credentials: Credentials, use: ClusterUse): Promise<boolean> {
  const usesRows = use === 'control_plane';
  const passwords = new Map([[controlRole, credentials.control]]);
  if (usesRows) passwords.set(rowsRole, credentials.rows);
  try {
    return await withClient(url, async (admin) => {
      const { rows } = await admin.query<{ name: string; verifier: string | null }>(preparedSql, [
        [...passwords.keys()],
        controlRole,
        usesRows,
      ]);
      return (
        rows.length === passwords.size &&
        rows.every(({ name, verifier }) => isVerifierOf(passwords.get(name) ?? '', verifier ?? ''))
      );
    });
  } catch {
    return false;
  }
}

const preparedSql = `
  select a.rolname as name, a.rolpassword as verifier
  from pg_authid a join pg_roles r on r.oid = a.oid
  where a.rolname = any($1)
    and a.rolcanlogin and not a.rolsuper and not a.rolreplication and not a.rolbypassrls
    and a.rolcreaterole = (a.rolname = $2) and a.rolcreatedb = (a.rolname = $2)
    and r.rolconfig @> array['log_error_verbosity=terse']
    and not exists (
      select from unnest(array['postgres', 'template1', '${database}']) as d (name),
        unnest(array['connect', 'create', 'temporary']) as p (privilege)
      where has_database_privilege('public', d.name, p.privilege))
    and not has_schema_privilege('public', 'public', 'usage')
    and not has_schema_privilege('public', 'public', 'create')
    and (not $3 or has_database_privilege('${rowsRole}', '${database}', 'connect')
      and to_regclass('svc.platform_keys') is not null)`;

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

export async function readOrCreatePlatformKey(client: ClientBase, name: string, makeValue: () => string) {
  const select = 'select value from svc.platform_keys where name = $1';
  const found = await client.query<{ value: string }>(select, [name]);
  if (found.rows[0]) return found.rows[0].value;
  const value = makeValue();
  await client.query('insert into svc.platform_keys (name, value) values ($1, $2)', [name, value]);
  return value;
}

const Credentials = z.object({ superuser: z.string(), control: z.string(), rows: z.string() });
export type Credentials = z.output<typeof Credentials>;

/** The file is written before the cluster is created, so that no cluster exists without a known password. */
export function readOrCreateCredentials(dataDir: string): Credentials {
  const path = credentialsPath(dataDir);
  if (existsSync(path)) return readCredentials(dataDir);
  const credentials = { superuser: newPassword(), control: newPassword(), rows: newPassword() };
  writeDurably(path, `${JSON.stringify(credentials, null, 2)}\n`);
  return credentials;
}

export function readCredentials(dataDir: string): Credentials {
  const path = credentialsPath(dataDir);
  try {
    return Credentials.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch (cause) {
    throw new DatabaseError(
      'credentials_lost',
      `${path}, which stores the passwords of the database in ${dataDir}, cannot be read. Restore it from a backup.`,
      { cause },
    );
  }
}

function credentialsPath(dataDir: string): string {
  return join(dataDir, 'postgres.json');
}

const iterations = 4096;

/** RFC 5803, so that no password reaches a statement log. ASCII only: SASLprep is not applied. */
export function scramVerifier(password: string, salt = randomBytes(16)): string {
  const salted = pbkdf2Sync(password, salt, iterations, 32, 'sha256');
  const clientKey = createHmac('sha256', salted).update('Client Key').digest();
  const storedKey = createHash('sha256').update(clientKey).digest('base64');
  const serverKey = createHmac('sha256', salted).update('Server Key').digest('base64');
  return `SCRAM-SHA-256$${iterations}:${salt.toString('base64')}$${storedKey}:${serverKey}`;
}

function isVerifierOf(password: string, verifier: string): boolean {
  const salt = verifier.split(/[$:]/)[2] ?? '';
  return verifier === scramVerifier(password, Buffer.from(salt, 'base64'));
}

export function newPassword(): string {
  return randomBytes(24).toString('base64url');
}
