import { CliError } from '@svc/cli/framework/errors.ts';
import { Kysely, PostgresDialect } from 'kysely';
import pg, { type Client, type ClientBase, escapeIdentifier as ident, type PoolClient } from 'pg';
import { anchorsPath, findAuditBreaks, readAnchors } from '../../core/audit-verify.ts';
import type { Db } from '../../core/db.ts';
import { type Migration, migrate, migrationsDirectory, withSchemaLock } from '../../core/migrate.ts';
import { fail } from '../../core/problem.ts';
import { installationKey } from '../../data/raw-databases/lifecycle.ts';
import { dataSchemaSql } from '../../data/rows/data-schema.ts';
import { withClient } from '../../drivers/database/connect.ts';
import type { Database } from '../../drivers/database/database.ts';
import { type ObjectStoreConfig, openObjectStore } from '../../drivers/object-store/open-object-store.ts';
import { objectsFolderName } from '../backup/data-files.ts';
import type { Manifest } from '../backup/manifest.ts';
import type { RawServerAccess } from '../backup/raw/raw-entries.ts';
import { controlSchema, copySettings, isSameDatabase, listAppSchemas } from '../backup/snapshot.ts';
import type { BackupPart } from '../command.ts';
import { adminUrl, hasTable, openAdminDatabase } from '../system.ts';
import { loadBackup, type StagedFiles, stageFiles } from './load-backup.ts';
import { type RestoredRawDatabases, restoreRawDatabases } from './raw-databases.ts';
import type { BackupSource } from './verify-backup.ts';

async function rebuildControlSchema(client: ClientBase, migrations: readonly Migration[]): Promise<void> {
  await client.query(`
    create schema svc_restoring;
    alter table svc.migrations set schema svc_restoring;
    drop schema svc cascade;
    alter schema svc_restoring rename to svc;
    delete from svc.migrations;
    drop schema if exists pgboss cascade`);
  for (const migration of migrations) await client.query(migration.sql);
}

async function dropAppSchemas(client: ClientBase): Promise<void> {
  for (const name of await listAppSchemas(client)) await client.query(`drop schema ${ident(name)} cascade`);
}

/** Drops foreign keys, which may be circular, and disables triggers; the returned function restores and checks them. */
async function suspendReferences(client: ClientBase): Promise<() => Promise<void>> {
  const { rows } = await client.query<{ suspend: string; resume: string }>(
    `select format('alter table %s drop constraint %I', k.conrelid::regclass, k.conname) as suspend,
       format('alter table %s add constraint %I %s', k.conrelid::regclass, k.conname, pg_get_constraintdef(k.oid)) as resume,
       1 as step
     from pg_constraint k join pg_namespace n on n.oid = k.connamespace where n.nspname = 'svc' and k.contype = 'f'
     union all
     select format('alter table %s disable trigger %I', c.oid::regclass, t.tgname),
       format('alter table %s enable trigger %I', c.oid::regclass, t.tgname), 2
     from pg_trigger t join pg_class c on c.oid = t.tgrelid join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = 'svc' and not t.tgisinternal and t.tgenabled = 'O'
     order by step`,
  );
  for (const { suspend } of rows) await client.query(suspend);
  return async () => {
    for (const { resume } of rows) await client.query(resume);
  };
}

/** The server sets their passwords at its next start. Databases of another system are forgotten. */
async function adoptRawDatabases(control: ClientBase, restored: readonly string[]): Promise<string[]> {
  if (!(await hasTable(control, 'svc.raw_databases'))) return [];
  await control.query(`delete from svc.outbox where topic = 'rawDb.settle' and done_at is null`);
  const { rows } = await control.query<{ slug: string }>(
    `with gone as (delete from svc.raw_databases where database <> all ($1) returning app_id, state)
     select a.slug from gone join svc.apps a on a.id = gone.app_id where gone.state <> 'dropping' order by 1`,
    [restored],
  );
  await control.query(
    `insert into svc.outbox (id, topic, payload, created_at)
     select gen_random_uuid(), 'rawDb.settle', jsonb_build_object('tenant_id', tenant_id, 'database', database), now()
     from svc.raw_databases`,
  );
  return rows.map(({ slug }) => slug);
}

async function forgetServers(control: ClientBase): Promise<void> {
  if (await hasTable(control, 'svc.servers')) await control.query('delete from svc.servers');
}

type Key = { name: string; value: string; created_at: Date };

/** Keys that belong to the database, not to its data: the login for rows and the installation key. */
const localKeyNames = ['rows_role', 'rows_password', installationKey];

async function readRowsLogin(client: ClientBase): Promise<Key[]> {
  const { rows } = await client.query<Key>(
    'select name, value, created_at from svc.platform_keys where name = any($1)',
    [localKeyNames],
  );
  return rows;
}

async function restoreRowsLogin(client: ClientBase, keys: readonly Key[]): Promise<void> {
  await client.query('delete from svc.platform_keys where name = any($1)', [localKeyNames]);
  const insert = 'insert into svc.platform_keys (name, value, created_at) values ($1, $2, $3)';
  for (const { name, value, created_at } of keys) await client.query(insert, [name, value, created_at]);
}

async function readInstallation(control: ClientBase): Promise<string | null> {
  const { rows } = await control.query<{ value: string }>(
    'select value from svc.platform_keys where name = $1',
    [installationKey],
  );
  return rows[0] ? (JSON.parse(rows[0].value) as string) : null;
}

interface RestoreInput {
  database: Database;
  dataDatabaseUrl: string | undefined;
  dataDir: string;
  source: BackupSource;
  manifest: Manifest;
  migrations: readonly Migration[];
  mode: 'into-empty' | 'replace';
  excluded: readonly BackupPart[];
  objectStore: ObjectStoreConfig;
  rawServer: RawServerAccess | null;
  note(line: string): void;
  onInterrupt(undo: () => void): () => void;
}

interface Restored {
  auditBreaks: string[];
  migrated: string[];
  previousFilesIn: string | null;
  rawDatabasesOf: string[];
  previousRawDatabases: string[];
}

export async function restoreBackup(input: RestoreInput): Promise<Restored> {
  const { database, note } = input;
  const toNewest = () => migrate({ url: database.controlUrl, directory: migrationsDirectory, log: note });
  const here = openAdminDatabase(database.controlUrl);
  const elsewhere = input.dataDatabaseUrl ? openAdminDatabase(input.dataDatabaseUrl) : null;
  try {
    const control = await here.pool.connect();
    const other = await elsewhere?.pool.connect();
    try {
      await rejectRunningServer(control);
      await toNewest();
      const apps = other && !(await isSameDatabase(control, other)) ? other : control;
      const loaded = await withSchemaLock(control, () => restoreInTransaction(input, control, apps));
      return { ...loaded, migrated: (await toNewest()).applied };
    } finally {
      control.release(true);
      other?.release(true);
    }
  } finally {
    await elsewhere?.close();
    await here.close();
  }
}

async function restoreInTransaction(
  input: RestoreInput,
  control: PoolClient,
  apps: PoolClient,
): Promise<Omit<Restored, 'migrated'>> {
  // Checked again under the lock, which prevents a server from starting.
  await rejectRunningServer(control);
  if (input.mode === 'into-empty') await rejectDataLoss(control, apps);
  return await withRawDatabases(input, control, (raw) => restoreParts(input, { control, apps, raw }));
}

async function withRawDatabases<T>(
  { rawServer, manifest }: RestoreInput,
  control: ClientBase,
  work: (raw: RestoredRawDatabases | null) => Promise<T>,
): Promise<T> {
  if (!rawServer) return await work(null);
  const { url } = rawServer;
  const names = manifest.raw_databases.map(({ database }) => database);
  const run = async (admin: Client) => {
    const installation = await readInstallation(control);
    const raw = await restoreRawDatabases(admin, { url, installation, names, now: new Date() });
    return await work(raw).finally(() => raw.remove());
  };
  return await withClient(adminUrl(url), run, { queryMsMax: 'none' });
}

async function restoreParts(
  input: RestoreInput,
  { control, apps, raw }: { control: PoolClient; apps: PoolClient; raw: RestoredRawDatabases | null },
): Promise<Omit<Restored, 'migrated'>> {
  const clients = new Set([control, apps]);
  const files = stageFiles(input.dataDir, new Date());
  let undoFiles = () => {};
  let undoDatabases = async () => {};
  const forget = input.onInterrupt(() => {
    undoFiles();
    files.remove();
  });
  try {
    for (const client of clients) await client.query('begin');
    const loaded = await loadInto(input, { control, apps, files, raw });
    const databases = await raw?.exchange();
    if (databases) undoDatabases = databases.undo;
    const { undo, previousIn } = files.exchange((name) => name === objectsFolderName && keepsObjects(input));
    undoFiles = undo;
    if (apps !== control) await apps.query('commit');
    await control.query('commit');
    undoFiles = () => {};
    undoDatabases = async () => {};
    return { ...loaded, previousFilesIn: previousIn, previousRawDatabases: databases?.renamed ?? [] };
  } catch (error) {
    undoFiles();
    await undoDatabases();
    for (const client of clients) await client.query('rollback').catch(() => {});
    throw error;
  } finally {
    files.remove();
    forget();
  }
}

function keepsObjects({ excluded, objectStore }: RestoreInput): boolean {
  return excluded.includes('objects') || objectStore.kind !== 'file';
}

async function loadInto(
  { database, source, manifest, migrations, excluded, objectStore, note }: RestoreInput,
  {
    control,
    apps,
    files,
    raw,
  }: { control: PoolClient; apps: PoolClient; files: StagedFiles; raw: RestoredRawDatabases | null },
): Promise<Pick<Restored, 'auditBreaks' | 'rawDatabasesOf'>> {
  await control.query(
    "set statement_timeout = 0; set lock_timeout = '30s'; set idle_in_transaction_session_timeout = 0",
  );
  const rowsLogin = await readRowsLogin(control);
  await dropAppSchemas(apps);
  // Triggers of tables use its functions. The next start chooses another epoch: positions in change feeds are those of one
  // database.
  await apps.query(dataSchemaSql);
  await apps.query('delete from svc_data.epoch');
  const level = new Set(manifest.migrations.map((migration) => migration.name));
  await rebuildControlSchema(
    control,
    migrations.filter((migration) => level.has(migration.name)),
  );
  for (const client of new Set([control, apps])) await client.query(copySettings);
  const resumeReferences = await suspendReferences(control);
  const rowsRole = new pg.Client({ connectionString: database.rowsUrl }).user ?? '';
  // Objects of the data dir are exchanged with its other files; those of a bucket are written at once, and no row names them yet.
  const objects = excluded.includes('objects')
    ? null
    : openObjectStore({ objectStore, dataDir: files.folder });
  await loadBackup(source, manifest, { control, apps, rowsRole, files, objects, raw, note });
  await restoreRowsLogin(control, rowsLogin);
  await forgetServers(control);
  await resumeReferences();
  return {
    rawDatabasesOf: await adoptRawDatabases(
      control,
      raw ? manifest.raw_databases.map(({ database }) => database) : [],
    ),
    auditBreaks: await findAuditBreaks(dbOnConnection(control), readAnchors(anchorsPath(files.folder))),
  };
}

function dbOnConnection(client: PoolClient): Db {
  // Kysely releases a connection after each query; keep it for the transaction.
  const borrowed = new Proxy(client, {
    get: (target, name) => (name === 'release' ? () => {} : Reflect.get(target, name)),
  });
  const pool = { connect: async () => borrowed, end: async () => {}, options: {} };
  // biome-ignore lint/complexity/noBannedTypes: as Db is.
  return new Kysely<{}>({ dialect: new PostgresDialect({ pool }) }).withSchema(controlSchema);
}

/** A running server is recognized by its connections, whatever machine it runs on. */
async function rejectRunningServer(client: ClientBase): Promise<void> {
  const { rows } = await client.query<{ count: number }>(
    `select count(*)::int as count from pg_stat_activity
     where datname = current_database() and application_name in ('svc control', 'svc listen', 'svc queue')`,
  );
  if ((rows[0]?.count ?? 0) === 0) return;
  throw fail('invalid_state_transition', { detail: 'A server is running on this database: stop it first.' });
}

async function rejectDataLoss(control: ClientBase, apps: ClientBase): Promise<void> {
  const { rows } = await control.query<{ slugs: string[]; tenants: number; users: number }>(
    `select array(select slug from svc.tenants order by slug limit 5) as slugs,
       (select count(*)::int from svc.tenants) as tenants, (select count(*)::int from svc.users) as users`,
  );
  const schemas = (await listAppSchemas(apps)).length;
  const { slugs, tenants, users } = rows[0] ?? { slugs: [], tenants: 0, users: 0 };
  if (tenants + users + schemas === 0) return;
  const named = tenants > 0 ? ` (${slugs.join(', ')}${tenants > slugs.length ? ', …' : ''})` : '';
  throw new CliError(
    'confirmation_required',
    `This system is not empty: ${tenants} tenants${named}, ${users} users and ${schemas} app schemas would be lost.`,
    { next: 'Take a backup of it, then run the command again with --yes to replace it.' },
  );
}
