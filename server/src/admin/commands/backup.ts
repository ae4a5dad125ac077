import { readMigrations } from '../../core/migrate.ts';
import { attachDatabase, openDatabase } from '../../drivers/database/database.ts';
import { migrationsDirectory } from '../../migrations-directory.ts';
import { makeBackup } from '../backup/make-backup.ts';
import type { Manifest } from '../backup/manifest.ts';
import type { AdminCtx, Result } from '../command.ts';
import { restoreBackup } from '../restore/restore-backup.ts';
import { verifyBackup } from '../restore/verify-backup.ts';
import { requireDatabase, withDatabase } from '../system.ts';

export async function runBackup(ctx: AdminCtx, { flags }: { flags: { to: string } }): Promise<Result> {
  const config = ctx.config();
  requireDatabase(config);
  const { dataDir, dataDatabaseUrl, objectStore } = config;
  const { manifest, bytes } = await withDatabase(ctx, attachDatabase, ({ controlUrl, rowsUrl }) =>
    makeBackup({
      controlUrl,
      rowsUrl,
      dataDatabaseUrl,
      dataDir,
      file: flags.to,
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
  return {
    json: { file: flags.to, bytes, ...summary },
    text: `Wrote ${flags.to}: ${rows} rows of ${tables} tables, ${files} files, ${bytes} bytes.\n`,
  };
}

function summarize(ctx: AdminCtx, { created_at, tables, schemas, files, left_out }: Manifest) {
  for (const what of left_out) ctx.note(`Not in the backup: ${what}.`);
  return {
    created_at,
    tables: tables.length,
    rows: tables.reduce((sum, table) => sum + table.rows, 0),
    app_schemas: schemas.length,
    files: files.count,
    left_out,
  };
}

export async function runRestore(
  ctx: AdminCtx,
  { flags }: { flags: { from: string; yes?: boolean } },
): Promise<Result> {
  const { dataDir, dataDatabaseUrl } = ctx.config();
  const migrations = readMigrations(migrationsDirectory);
  const manifest = await verifyBackup(flags.from, migrations);
  // Opened with the server's lock: fails while a server runs, and no server can start meanwhile.
  const { auditBreaks, migrated, filesKeptIn, rawDatabasesOf } = await withDatabase(
    ctx,
    openDatabase,
    (database) =>
      restoreBackup({
        database,
        dataDatabaseUrl,
        dataDir,
        file: flags.from,
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
