import { CliError, clientCodes } from '@svc/cli/framework/errors.ts';
import { type Report, renderReport } from '@svc/cli/framework/report.ts';
import { errorCodes } from '@svc/contract/error-codes.ts';
import type { ExitCode } from '@svc/contract/exit-codes.ts';
import { ConfigError } from '../core/config-error.ts';
import type { AdminIo } from './command.ts';

type Failed = Omit<Report['problem'], 'type' | 'request_id' | 'status'> & { exit: ExitCode; status?: number };

export async function reportError(error: unknown, io: AdminIo, format: 'json' | 'text'): Promise<ExitCode> {
  const { exit, status = 0, ...failed } = await describe(error);
  const type = `urn:svc:problem:${failed.code}`;
  const report: Report = { exit, problem: { type, status, request_id: '', ...failed } };
  io.err(renderReport(report, format));
  return exit;
}

async function describe(error: unknown): Promise<Failed> {
  if (error instanceof CliError) {
    const { exit, title } = clientCodes[error.code];
    return { exit, code: error.code, title, detail: error.message, next: error.next };
  }
  if (error instanceof ConfigError) {
    return { exit: 2, code: 'configuration', title: 'Invalid configuration', detail: error.message };
  }
  const described = await describePlatformError(error);
  if (described) return described;
  const detail = error instanceof Error ? error.message : String(error);
  const next = 'Run svc-admin doctor to look for the cause.';
  return { exit: 1, code: 'failed', title: 'Command failed', detail, next };
}

async function describePlatformError(error: unknown): Promise<Failed | null> {
  const { Failure } = await import('../core/problem.ts');
  const { databaseError } = await import('../core/db.ts');
  const { DatabaseError } = await import('../drivers/database/connect.ts');
  const { MigrationError } = await import('../core/migrate.ts');
  if (error instanceof DatabaseError) {
    const exits: Partial<Record<typeof error.code, ExitCode>> = {
      unreachable: 12,
      bad_url: 2,
      data_dir_in_use: 6,
      busy: 6,
      running_elsewhere: 6,
    };
    return { exit: exits[error.code] ?? 1, code: error.code, title: 'Database error', detail: error.message };
  }
  if (error instanceof MigrationError) {
    const exit = error.code === 'locked' ? 6 : 1;
    return { exit, code: `migration_${error.code}`, title: 'Migration error', detail: error.message };
  }
  const failure = error instanceof Failure ? error : databaseError(error);
  if (!failure) return null;
  const { means, status, exit } = errorCodes[failure.code];
  const cause = failure.cause instanceof Error ? ` ${failure.cause.message}` : '';
  const { code, errors } = failure;
  const detail = `${failure.detail ?? means}${failure === error ? '' : cause}`;
  return { exit, code, title: means, status, detail, errors };
}
