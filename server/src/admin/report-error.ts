import { errorCodes } from '@svc/contract/error-codes.ts';
import type { ExitCode } from '@svc/contract/exit-codes.ts';
import type { ProblemItem } from '@svc/contract/problem.ts';
import { ConfigError } from '../config.ts';
import { type AdminIo, UsageError } from './command.ts';
import { printable } from './table.ts';

interface Report {
  exit: ExitCode;
  code: string;
  title: string;
  detail: string;
  status?: number;
  errors?: ProblemItem[] | undefined;
  next?: string | undefined;
}

/** Says on standard error what failed, by which code, and what to do; the answer is the exit code. */
export async function reportError(error: unknown, io: AdminIo, format: 'json' | 'text'): Promise<ExitCode> {
  const report = await reportOf(error);
  if (format === 'json') {
    const { code, title, detail, status = 0, errors, next } = report;
    const problem = {
      type: `urn:svc:problem:${code}`,
      title,
      status,
      detail,
      code,
      request_id: '',
      errors,
      next,
    };
    io.err(`${JSON.stringify(problem)}\n`);
  } else {
    const items = report.errors ?? [];
    io.err(`Error: ${lines(report.detail)} (${report.code})\n`);
    if (items.length > 1) for (const item of items) io.err(`  ${item.field ?? ''}: ${lines(item.detail)}\n`);
    if (report.next) io.err(`${lines(report.next)}\n`);
  }
  return report.exit;
}

async function reportOf(error: unknown): Promise<Report> {
  if (error instanceof UsageError) {
    return { exit: 2, code: 'usage', title: 'Wrong usage', detail: error.message, next: error.next };
  }
  if (error instanceof ConfigError) {
    return { exit: 2, code: 'configuration', title: 'Wrong configuration', detail: error.message };
  }
  if (error instanceof NeedsConfirmation) {
    return {
      exit: 11,
      code: 'confirmation_required',
      title: 'Needs --yes',
      detail: error.message,
      next: error.next,
    };
  }
  return (await ofPlatform(error)) ?? unclassified(error);
}

/** What is there would be lost: a person must say so. */
export class NeedsConfirmation extends Error {
  readonly next: string;

  constructor(message: string, next: string) {
    super(message);
    this.name = 'NeedsConfirmation';
    this.next = next;
  }
}

/** Loaded only for errors: the quick commands start without them. */
async function ofPlatform(error: unknown): Promise<Report | null> {
  const { Failure } = await import('../plumbing/problem.ts');
  const { failureOfDatabase } = await import('../plumbing/database-errors.ts');
  const { DatabaseError } = await import('../drivers/database/database-error.ts');
  const { MigrationError } = await import('../plumbing/migrate.ts');
  if (error instanceof DatabaseError) {
    const exits: Partial<Record<typeof error.code, ExitCode>> = {
      unreachable: 12,
      bad_url: 2,
      data_dir_in_use: 6,
      busy: 6,
      running_elsewhere: 6,
    };
    return { exit: exits[error.code] ?? 1, code: error.code, title: 'The database', detail: error.message };
  }
  if (error instanceof MigrationError) {
    const exit = error.code === 'locked' ? 6 : 1;
    return { exit, code: `migration_${error.code}`, title: 'Migrations', detail: error.message };
  }
  const failure = error instanceof Failure ? error : failureOfDatabase(error);
  if (!failure) return null;
  const { means, status, exit } = errorCodes[failure.code];
  const cause = failure.cause instanceof Error ? ` ${failure.cause.message}` : '';
  return {
    exit,
    code: failure.code,
    title: means,
    status,
    detail: `${failure.detail ?? means}${failure === error ? '' : cause}`,
    errors: failure.errors,
  };
}

function unclassified(error: unknown): Report {
  const detail = error instanceof Error ? error.message : String(error);
  return {
    exit: 1,
    code: 'failed',
    title: 'It failed',
    detail,
    next: 'svc-admin doctor checks what may be wrong.',
  };
}

function lines(text: string): string {
  return text.split('\n').map(printable).join('\n');
}
