import { attachDatabase } from '../../drivers/database/database.ts';
import { migrationsDirectory } from '../../migrations-directory.ts';
import { migrate } from '../../plumbing/migrate.ts';
import type { AdminCtx, Result } from '../command.ts';
import { withDatabase } from '../system.ts';

export async function run(ctx: AdminCtx): Promise<Result> {
  const { applied } = await withDatabase(ctx, attachDatabase, (database) =>
    migrate({ url: database.controlUrl, directory: migrationsDirectory, log: ctx.note }),
  );
  const text = applied.length === 0 ? 'Nothing to do.' : `Applied ${applied.length} migrations.`;
  return { json: { applied }, text: `${text}\n` };
}
