import { attachDatabase } from '../../drivers/database/database.ts';
import { makeBackup } from '../backup/make-backup.ts';
import type { AdminCtx, Result } from '../command.ts';
import { requireDatabase, withDatabase } from '../system.ts';

export async function run(ctx: AdminCtx, input: { to: string }): Promise<Result> {
  const config = ctx.config();
  requireDatabase(config);
  const { dataDir, dataDatabaseUrl, objectStore } = config;
  const { manifest, bytes } = await withDatabase(ctx, attachDatabase, ({ controlUrl, rowsUrl }) =>
    makeBackup({
      controlUrl,
      rowsUrl,
      dataDatabaseUrl,
      dataDir,
      file: input.to,
      elsewhere:
        objectStore.kind === 's3'
          ? [`objects in the bucket ${objectStore.bucket}, which has its own history`]
          : [],
      note: ctx.note,
      onInterrupt: ctx.onInterrupt,
    }),
  );
  const rows = manifest.tables.reduce((sum, table) => sum + table.rows, 0);
  for (const what of manifest.left_out) ctx.note(`Not in the backup: ${what}.`);
  return {
    json: {
      file: input.to,
      bytes,
      created_at: manifest.created_at,
      tables: manifest.tables.length,
      rows,
      app_schemas: manifest.schemas.length,
      files: manifest.files.count,
      left_out: manifest.left_out,
    },
    text: `Wrote ${input.to}: ${rows} rows of ${manifest.tables.length} tables, ${manifest.files.count} files, ${bytes} bytes.\n`,
  };
}
