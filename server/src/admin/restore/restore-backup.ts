import { Kysely, PostgresDialect } from 'kysely';
import pg, { type PoolClient } from 'pg';
import type { Database } from '../../drivers/database/database.ts';
import { migrationsDirectory } from '../../migrations-directory.ts';
import { findAuditBreaks } from '../../plumbing/audit.ts';
import { anchorsFile, readAnchors } from '../../plumbing/audit-anchors.ts';
import type { Db } from '../../plumbing/db.ts';
import { type Migration, migrate, withSchemaLock } from '../../plumbing/migrate.ts';
import type { Manifest } from '../backup/manifest.ts';
import { controlSchema, isSameDatabase, settingsOfCopy } from '../backup/snapshot.ts';
import { openAdminDatabase } from '../system.ts';
import { type StagedFiles, stageFiles } from './data-dir.ts';
import { forgetRawDatabases } from './forget-raw-databases.ts';
import { loadBackup } from './load-backup.ts';
import { dropAppSchemas, rebuildControlSchema, suspendReferences } from './prepare-schema.ts';
import { keepRowsLogin, readRowsLogin } from './rows-login.ts';
import { refuseLoss, refuseWhileServed } from './what-is-there.ts';

export interface RestoreInput {
  database: Database;
  dataDatabaseUrl: string | undefined;
  dataDir: string;
  file: string;
  /** As verified. */
  manifest: Manifest;
  migrations: readonly Migration[];
  mode: 'into-empty' | 'replace';
  note(line: string): void;
  onInterrupt(undo: () => void): () => void;
}

export interface Restored {
  auditBreaks: string[];
  migrated: string[];
  filesKeptIn: string | null;
  /** Slugs of the apps that had a database of their own. */
  rawDatabasesOf: string[];
}

/** Loads a verified backup in one transaction: in the end all of it is there, or nothing has changed. */
export async function restoreBackup(input: RestoreInput): Promise<Restored> {
  const { database, note } = input;
  const toNewest = () => migrate({ url: database.controlUrl, directory: migrationsDirectory, log: note });
  const here = openAdminDatabase(database.controlUrl);
  const elsewhere = input.dataDatabaseUrl ? openAdminDatabase(input.dataDatabaseUrl) : null;
  try {
    const control = await here.pool.connect();
    const other = await elsewhere?.pool.connect();
    try {
      await refuseWhileServed(control);
      await toNewest();
      const apps = other && !(await isSameDatabase(control, other)) ? other : control;
      const loaded = await withSchemaLock(control, () => inTransaction(input, control, apps));
      return { ...loaded, migrated: (await toNewest()).applied };
    } finally {
      // What was set for loading must not be met by the next user of the connection.
      control.release(true);
      other?.release(true);
    }
  } finally {
    await elsewhere?.close();
    await here.close();
  }
}

async function inTransaction(
  input: RestoreInput,
  control: PoolClient,
  apps: PoolClient,
): Promise<Omit<Restored, 'migrated'>> {
  const clients = new Set([control, apps]);
  // Looked at again, now that no server can start.
  await refuseWhileServed(control);
  if (input.mode === 'into-empty') await refuseLoss(control, apps);
  const files = stageFiles(input.dataDir, new Date());
  let undoFiles = () => {};
  const forget = input.onInterrupt(() => {
    undoFiles();
    files.remove();
  });
  try {
    for (const client of clients) await client.query('begin');
    const loaded = await loadAll(input, { control, apps, files });
    const { undo, keptIn } = files.exchange();
    undoFiles = undo;
    if (apps !== control) await apps.query('commit');
    await control.query('commit');
    undoFiles = () => {};
    return { ...loaded, filesKeptIn: keptIn };
  } catch (error) {
    undoFiles();
    for (const client of clients) await client.query('rollback').catch(() => {});
    throw error;
  } finally {
    files.remove();
    forget();
  }
}

async function loadAll(
  { database, file, manifest, migrations }: RestoreInput,
  { control, apps, files }: { control: PoolClient; apps: PoolClient; files: StagedFiles },
): Promise<Pick<Restored, 'auditBreaks' | 'rawDatabasesOf'>> {
  await control.query(
    "set statement_timeout = 0; set lock_timeout = '30s'; set idle_in_transaction_session_timeout = 0",
  );
  const rowsLogin = await readRowsLogin(control);
  await dropAppSchemas(apps);
  const level = new Set(manifest.migrations.map((migration) => migration.name));
  await rebuildControlSchema(
    control,
    migrations.filter((migration) => level.has(migration.name)),
  );
  for (const client of new Set([control, apps])) await client.query(settingsOfCopy);
  const resumeReferences = await suspendReferences(control);
  const rowsRole = new pg.Client({ connectionString: database.rowsUrl }).user ?? '';
  await loadBackup(file, manifest, { control, apps, rowsRole, files });
  await keepRowsLogin(control, rowsLogin);
  await resumeReferences();
  return {
    rawDatabasesOf: await forgetRawDatabases(control),
    auditBreaks: await findAuditBreaks(dbOver(control), readAnchors(anchorsFile(files.folder))),
  };
}

/** The control plane's queries, inside the transaction of this connection. */
function dbOver(client: PoolClient): Db {
  // Kysely gives a connection back after each query; this one stays ours.
  const borrowed = new Proxy(client, {
    get: (target, name) => (name === 'release' ? () => {} : Reflect.get(target, name)),
  });
  const pool = { connect: async () => borrowed, end: async () => {}, options: {} };
  // biome-ignore lint/complexity/noBannedTypes: as Db is.
  return new Kysely<{}>({ dialect: new PostgresDialect({ pool }) }).withSchema(controlSchema);
}
