import { ConfigError } from '../../core/config-error.ts';
import { masterKeyVariable, readMasterKey } from '../../core/master-key.ts';
import { migrationsDirectory, readMigrations } from '../../core/migrate.ts';
import { attachDatabase, openDatabase } from '../../drivers/database/database.ts';
import { attachEmbedded, openEmbedded } from '../../drivers/database/embedded.ts';
import { openObjectStore } from '../../drivers/object-store/open-object-store.ts';
import { createEncryption, readIdentities } from '../backup/archive.ts';
import { makeBackup } from '../backup/make-backup.ts';
import type { Manifest } from '../backup/manifest.ts';
import { openRawServer } from '../backup/raw/raw-entries.ts';
import type { AdminCtx, BackupPart, Result } from '../command.ts';
import { restoreBackup } from '../restore/restore-backup.ts';
import { verifyBackup } from '../restore/verify-backup.ts';
import { requireDatabase, withDatabase } from '../system.ts';

export async function runBackup(
  ctx: AdminCtx,
  { flags }: { flags: { to: string; recipient?: string[]; exclude?: BackupPart[] } },
): Promise<Result> {
  const config = ctx.config();
  requireDatabase(config);
  const excluded = flags.exclude ?? [];
  const { dataDir, dataDatabaseUrl } = config;
  const encrypt = flags.recipient ? createEncryption(flags.recipient) : null;
  const { manifest, bytes, unreadable } = await withDatabase(ctx, attachDatabase, async (database) => {
    const rawServer = await openRawServer(config, database, attachEmbedded, 'none');
    const forget = ctx.onInterrupt(() => rawServer?.stopNow());
    return await makeBackup({
      controlUrl: database.controlUrl,
      rowsUrl: database.rowsUrl,
      dataDatabaseUrl,
      dataDir,
      store: openObjectStore(config),
      rawServer,
      excluded,
      file: flags.to,
      encrypt,
      note: ctx.note,
      onInterrupt: ctx.onInterrupt,
    }).finally(async () => {
      forget();
      await rawServer?.stop();
    });
  });
  const summary = summarize(ctx, manifest);
  const { rows, tables, files, objects, raw_databases } = summary;
  if (manifest.master_key !== null)
    ctx.note(
      `The keys in the backup are encrypted with the master key ${manifest.master_key}: a restore needs its file.`,
    );
  return {
    json: { file: flags.to, bytes, encrypted: encrypt !== null, ...summary },
    text:
      `Wrote ${flags.to}: ${rows} rows of ${tables} tables, ${raw_databases.length} raw databases, ${objects.count} objects, ` +
      `${files} files, ${bytes} bytes.\n`,
    exit: unreadable.length > 0 ? 1 : 0,
  };
}

function summarize(ctx: AdminCtx, manifest: Manifest) {
  const { created_at, tables, schemas, files, objects, raw_databases, left_out, master_key } = manifest;
  for (const what of left_out) ctx.note(`Not in the backup: ${what}.`);
  return {
    created_at,
    tables: tables.length,
    rows: tables.reduce((sum, table) => sum + table.rows, 0),
    app_schemas: schemas.length,
    files: files.count,
    objects: { count: objects.count, bytes: objects.bytes },
    raw_databases: raw_databases.map(({ sha256: _, ...rest }) => rest),
    left_out,
    master_key,
  };
}

export async function runRestore(
  ctx: AdminCtx,
  { flags }: { flags: { from: string; identity?: string; exclude?: BackupPart[]; yes?: boolean } },
): Promise<Result> {
  const config = ctx.config();
  const excluded = flags.exclude ?? [];
  const { dataDir, dataDatabaseUrl, masterKeyFile, objectStore } = config;
  const identities = flags.identity === undefined ? [] : readIdentities(flags.identity);
  const source = { file: flags.from, identities };
  const migrations = readMigrations(migrationsDirectory);
  const manifest = await verifyBackup(source, migrations);
  requireMasterKey(manifest, masterKeyFile);
  // Opened with the server's lock: fails while a server runs, and no server can start meanwhile.
  const hasRaw = manifest.raw_databases.length > 0 && !excluded.includes('raw-databases');
  const restored = await withDatabase(ctx, openDatabase, async (database) => {
    const rawServer = hasRaw ? await openRawServer(config, database, openEmbedded, 'create') : null;
    const forget = ctx.onInterrupt(() => rawServer?.stopNow());
    return await restoreBackup({
      database,
      dataDatabaseUrl,
      dataDir,
      source,
      manifest,
      migrations,
      mode: flags.yes ? 'replace' : 'into-empty',
      excluded,
      objectStore,
      rawServer,
      note: ctx.note,
      onInterrupt: ctx.onInterrupt,
    }).finally(async () => {
      forget();
      await rawServer?.stop();
    });
  });
  const { auditBreaks, migrated, previousFilesIn, rawDatabasesOf, previousRawDatabases } = restored;
  if (previousFilesIn)
    ctx.note(
      `The previous files of the data dir are in ${previousFilesIn}; remove them when they are no longer needed.`,
    );
  if (previousRawDatabases.length > 0)
    ctx.note(
      `Previous databases of apps stay on their server: ${previousRawDatabases.join(', ')}. Drop them when they are no longer needed.`,
    );
  for (const problem of auditBreaks) ctx.note(`The audit chain in the backup is broken: ${problem}`);
  const summary = summarize(ctx, manifest);
  if (rawDatabasesOf.length > 0)
    ctx.note(
      `These apps have lost their own database: ${rawDatabasesOf.join(', ')}. Their owners may enable a new, empty one.`,
    );
  return {
    json: {
      file: flags.from,
      ...summary,
      files_kept_in: previousFilesIn,
      migrated,
      audit_breaks: auditBreaks,
      raw_databases_of: rawDatabasesOf,
      raw_databases_kept: previousRawDatabases,
    },
    text:
      `Restored ${summary.rows} rows of ${summary.tables} tables, ${hasRaw ? manifest.raw_databases.length : 0} raw databases, ` +
      `${excluded.includes('objects') ? 0 : manifest.objects.count} objects and ${summary.files} files, as of ${summary.created_at}.\n`,
    exit: auditBreaks.length > 0 ? 1 : 0,
  };
}

/** Checked first: without its master key, the server could not start on the restored database. */
function requireMasterKey({ master_key: id }: Manifest, file: string | undefined): void {
  if (id === null) return;
  const problem = `the keys in the backup are encrypted with the master key ${id}`;
  if (file === undefined) throw new ConfigError(masterKeyVariable, `is required: ${problem}.`);
  const found = readMasterKey(file);
  if (found.id === id) return;
  throw new ConfigError(
    masterKeyVariable,
    `names ${file}, which contains the master key ${found.id}, but ${problem}.`,
  );
}
