import { openDatabase } from '../../drivers/database/database.ts';
import { migrationsDirectory } from '../../migrations-directory.ts';
import { readMigrations } from '../../plumbing/migrate.ts';
import type { AdminCtx, Result } from '../command.ts';
import { restoreBackup } from '../restore/restore-backup.ts';
import { verifyBackup } from '../restore/verify-backup.ts';
import { withDatabase } from '../system.ts';

export async function run(ctx: AdminCtx, input: { from: string; yes: boolean }): Promise<Result> {
  const { dataDir, dataDatabaseUrl } = ctx.config();
  const migrations = readMigrations(migrationsDirectory);
  const manifest = await verifyBackup(input.from, migrations);
  // Opened as a server would: while one runs this is refused, and none can start meanwhile.
  const { auditBreaks, migrated, filesKeptIn, rawDatabasesOf } = await withDatabase(
    ctx,
    openDatabase,
    (database) =>
      restoreBackup({
        database,
        dataDatabaseUrl,
        dataDir,
        file: input.from,
        manifest,
        migrations,
        mode: input.yes ? 'replace' : 'into-empty',
        note: ctx.note,
        onInterrupt: ctx.onInterrupt,
      }),
  );
  const rows = manifest.tables.reduce((sum, table) => sum + table.rows, 0);
  if (filesKeptIn)
    ctx.note(`The files that were in the data dir are in ${filesKeptIn}; remove them when not needed.`);
  for (const problem of auditBreaks) ctx.note(`The audit chain in the backup is broken: ${problem}`);
  for (const what of manifest.left_out) ctx.note(`Not in the backup: ${what}.`);
  if (rawDatabasesOf.length > 0)
    ctx.note(
      `These apps had a database of their own and are without one now: ${rawDatabasesOf.join(', ')}. Their owners may enable a new, empty one.`,
    );
  return {
    json: {
      file: input.from,
      created_at: manifest.created_at,
      tables: manifest.tables.length,
      rows,
      app_schemas: manifest.schemas.length,
      files: manifest.files.count,
      files_kept_in: filesKeptIn,
      migrated,
      audit_breaks: auditBreaks,
      left_out: manifest.left_out,
      raw_databases_of: rawDatabasesOf,
    },
    text: `Restored ${rows} rows of ${manifest.tables.length} tables and ${manifest.files.count} files, as of ${manifest.created_at}.\n`,
    // All is there as it was written, but as it was written it does not hold.
    ...(auditBreaks.length > 0 ? { exit: 1 } : {}),
  };
}
