import { sanitize } from '@svc/cli/framework/text.ts';
import { migrate } from '../../core/migrate.ts';
import { attachDatabase } from '../../drivers/database/database.ts';
import { migrationsDirectory } from '../../migrations-directory.ts';
import type { AdminCtx, Result } from '../command.ts';
import { type NamedFinding, runChecks } from '../doctor/run-checks.ts';
import { withDatabase } from '../system.ts';

export async function runDoctor(ctx: AdminCtx): Promise<Result> {
  const findings = await runChecks(ctx);
  const problems = findings.filter((finding) => finding.status === 'problem').length;
  const warnings = findings.filter((finding) => finding.status === 'warning').length;
  const checks = findings.map(({ name, status, detail, hint }) => ({ name, status, detail, hint }));
  return {
    json: { ok: problems === 0, checks },
    text: `${checks.map(findingText).join('')}${problems} problems, ${warnings} warnings.\n`,
    exit: problems === 0 ? 0 : 1,
  };
}

function findingText({ name, status, detail, hint }: NamedFinding): string {
  const start = `${status.padEnd(8)} ${name.padEnd(16)} `;
  const next = hint === '' ? '' : `${' '.repeat(start.length)}→ ${sanitize(hint)}\n`;
  return `${start}${sanitize(detail)}\n${next}`;
}

export async function runMigrate(ctx: AdminCtx): Promise<Result> {
  const { applied } = await withDatabase(ctx, attachDatabase, (database) =>
    migrate({ url: database.controlUrl, directory: migrationsDirectory, log: ctx.note }),
  );
  const text = applied.length === 0 ? 'No pending migrations.' : `Applied ${applied.length} migrations.`;
  return { json: { applied }, text: `${text}\n` };
}
