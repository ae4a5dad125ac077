import { ConfigError } from '../../core/config-error.ts';
import { masterKeyVariable, readMasterKey } from '../../core/master-key.ts';
import { readMigrations } from '../../core/migrate.ts';
import { attachDatabase, openDatabase } from '../../drivers/database/database.ts';
import { migrationsDirectory } from '../../migrations-directory.ts';
import { createEncryption, readIdentities } from '../backup/encryption.ts';
import { makeBackup } from '../backup/make-backup.ts';
import type { Manifest } from '../backup/manifest.ts';
import type { AdminCtx, Result } from '../command.ts';
import { restoreBackup } from '../restore/restore-backup.ts';
import { verifyBackup } from '../restore/verify-backup.ts';
import { requireDatabase, withDatabase } from '../system.ts';

export async function runBackup(
  ctx: AdminCtx,
  { flags }: { flags: { to: string; recipient?: string[] } },
): Promise<Result> {
  const config = ctx.config();
  requireDatabase(config);
  const { dataDir, dataDatabaseUrl, objectStore } = config;
  const encrypt = flags.recipient ? createEncryption(flags.recipient) : null;
  const { manifest, bytes } = await withDatabase(ctx, attachDatabase, ({ controlUrl, rowsUrl }) =>
    makeBackup({
      controlUrl,
      rowsUrl,
      dataDatabaseUrl,
      dataDir,
      file: flags.to,
      encrypt,
      elsewhere:
        objectStore.kind === 's3'
          ? [`objects in the bucket ${objectStore.bucket}, which has its own history`]
          : [],
      note: ctx.note,
      onInterrupt: ctx.onInterrupt,
    }),
  );
  const summary = summarize(ctx, manifest);
  const { rows, tables, files } = summary;
  if (manifest.master_key !== null)
    ctx.note(
      `The keys in the backup are encrypted with the master key ${manifest.master_key}: a restore needs its file.`,
    );
  return {
    json: { file: flags.to, bytes, encrypted: encrypt !== null, ...summary },
    text: `Wrote ${flags.to}: ${rows} rows of ${tables} tables, ${files} files, ${bytes} bytes.\n`,
  };
}

function summarize(ctx: AdminCtx, { created_at, tables, schemas, files, left_out, master_key }: Manifest) {
  for (const what of left_out) ctx.note(`Not in the backup: ${what}.`);
  return {
    created_at,
    tables: tables.length,
    rows: tables.reduce((sum, table) => sum + table.rows, 0),
    app_schemas: schemas.length,
    files: files.count,
    left_out,
    master_key,
  };
}

export async function runRestore(
  ctx: AdminCtx,
  { flags }: { flags: { from: string; identity?: string; yes?: boolean } },
): Promise<Result> {
  const { dataDir, dataDatabaseUrl, masterKeyFile } = ctx.config();
  const identities = flags.identity === undefined ? [] : readIdentities(flags.identity);
  const source = { file: flags.from, identities };
  const migrations = readMigrations(migrationsDirectory);
  const manifest = await verifyBackup(source, migrations);
  requireMasterKey(manifest, masterKeyFile);
  // Opened with the server's lock: fails while a server runs, and no server can start meanwhile.
  const { auditBreaks, migrated, filesKeptIn, rawDatabasesOf } = await withDatabase(
    ctx,
    openDatabase,
    (database) =>
      restoreBackup({
        database,
        dataDatabaseUrl,
        dataDir,
        source,
        manifest,
        migrations,
        mode: flags.yes ? 'replace' : 'into-empty',
        note: ctx.note,
        onInterrupt: ctx.onInterrupt,
      }),
  );
  if (filesKeptIn)
    ctx.note(
      `The previous files of the data dir are in ${filesKeptIn}; remove them when they are no longer needed.`,
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
      files_kept_in: filesKeptIn,
      migrated,
      audit_breaks: auditBreaks,
      raw_databases_of: rawDatabasesOf,
    },
    text: `Restored ${summary.rows} rows of ${summary.tables} tables and ${summary.files} files, as of ${summary.created_at}.\n`,
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
