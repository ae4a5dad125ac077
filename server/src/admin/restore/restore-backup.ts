import { CliError } from '@svc/cli/framework/errors.ts';
import { Kysely, PostgresDialect } from 'kysely';
import type { ClientBase, PoolClient } from 'pg';
import pg from 'pg';
import { anchorsPath, findAuditBreaks, readAnchors } from '../../core/audit-verify.ts';
import type { Db } from '../../core/db.ts';
import { type Migration, migrate, withSchemaLock } from '../../core/migrate.ts';
import { fail } from '../../core/problem.ts';
import { dataSchemaSql } from '../../data/rows/data-schema.ts';
import { withClient } from '../../drivers/database/connect.ts';
import type { Database } from '../../drivers/database/database.ts';
import { type ObjectStoreConfig, openObjectStore } from '../../drivers/object-store/open-object-store.ts';
import { migrationsDirectory } from '../../migrations-directory.ts';
import { objectsFolderName } from '../backup/data-files.ts';
import type { Manifest } from '../backup/manifest.ts';
import type { BackupPart } from '../backup/parts.ts';
import { controlSchema, copySettings, isSameDatabase, listAppSchemas } from '../backup/snapshot.ts';
import type { RawServerAccess } from '../raw-server.ts';
import { adminUrl, openAdminDatabase } from '../system.ts';
import { type StagedFiles, stageFiles } from './data-dir.ts';
import { loadBackup } from './load-backup.ts';
import {
  adoptRawDatabases,
  dropAppSchemas,
  forgetServers,
  readInstallation,
  readRowsLogin,
  rebuildControlSchema,
  restoreRowsLogin,
  suspendReferences,
} from './prepare-schema.ts';
import { type RestoredRawDatabases, restoreRawDatabases } from './raw-databases.ts';
import type { BackupSource } from './verify-backup.ts';

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
  /** Of apps' own databases; null if the backup has none, or they are excluded. */
  rawServer: RawServerAccess | null;
  note(line: string): void;
  onInterrupt(undo: () => void): () => void;
}

interface Restored {
  auditBreaks: string[];
  migrated: string[];
  filesKeptIn: string | null;
  rawDatabasesOf: string[];
  /** Previous databases of apps, under new names. */
  rawDatabasesKept: string[];
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
  return await withClient(adminUrl(url), async (admin) => {
    const installation = await readInstallation(control);
    const raw = await restoreRawDatabases(admin, { url, installation, names, now: new Date() });
    return await work(raw).finally(() => raw.remove());
  });
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
    const { undo, keptIn } = files.exchange((name) => name === objectsFolderName && keepsObjects(input));
    undoFiles = undo;
    if (apps !== control) await apps.query('commit');
    await control.query('commit');
    undoFiles = () => {};
    undoDatabases = async () => {};
    return { ...loaded, filesKeptIn: keptIn, rawDatabasesKept: databases?.renamed ?? [] };
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

/** Objects of the data dir that the backup does not replace stay. */
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
