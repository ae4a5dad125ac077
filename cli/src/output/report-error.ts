import { ProblemError, UnexpectedAnswerError } from '@svc/contract/client.ts';
import { errorCodes, isErrorCode } from '@svc/contract/error-codes.ts';
import type { ExitCode } from '@svc/contract/exit-codes.ts';
import type { OpenContext, Run } from '../context.ts';
import { BrokenPipeError, CliError, clientCodes } from '../framework/errors.ts';
import { type Report, renderReport } from '../framework/report.ts';
import { sanitize } from '../framework/text.ts';
import { requestedFormat } from '../global-flags.ts';
import { AdvisedProblemError, WorkFailedError } from '../session/problems.ts';
import { nameFlags } from './flag-names.ts';
import { envCredential, type FailedCall, nextStep } from './next-steps.ts';

export async function reportError(run: Run, cause: unknown): Promise<number> {
  const { io, ctx } = run;
  // `svc … | head` closes the pipe early, which is not a failure.
  if (cause instanceof BrokenPipeError) return 0;
  const format = ctx?.globals.format ?? requestedFormat(io.argv);
  const report = toReport(run, cause);
  if (format === 'json' || format === 'jsonl') {
    io.err(
      `${JSON.stringify(await forPrograms(report, { warnings: ctx?.warnings() ?? [], app: failedCall(run).app }))}\n`,
    );
    return report.exit;
  }
  ctx?.flushNotes();
  io.err(renderReport(report, 'text'));
  if (ctx?.globals.verbose && cause instanceof Error && cause.cause instanceof Error) {
    io.err(`Cause: ${sanitize(cause.cause.message)}\n`);
  }
  return report.exit;
}

/** One line, so that a reader finds it after any progress lines. */
async function forPrograms(
  { problem }: Report,
  { warnings, app }: { warnings: readonly string[]; app: string | undefined },
): Promise<object> {
  const { next, ...rest } = problem;
  const { nextCommand } = await import('./next-argv.ts');
  return {
    ...rest,
    ...(next !== undefined && { next: await nextCommand(next, { app }) }),
    ...(warnings.length > 0 && { warnings }),
  };
}

function toReport(run: Run, cause: unknown): Report {
  if (cause instanceof ProblemError) {
    const report = problemReport(cause, failedCall(run));
    return run.command === undefined
      ? report
      : { ...report, problem: nameFlags(report.problem, run.command) };
  }
  if (cause instanceof WorkFailedError) return workReport(cause);
  return clientReport(cause, run);
}

function problemReport(error: ProblemError, call: FailedCall): Report {
  const { problem } = error;
  const exit = isErrorCode(problem.code) ? errorCodes[problem.code].exit : exitCodeForStatus(problem.status);
  const next =
    error instanceof AdvisedProblemError ? error.next : nextStep(problem.code, call, error.retryAfterSeconds);
  return { exit, problem: { ...problem, next } };
}

function workReport({ code, message: detail, next }: WorkFailedError): Report {
  const title = 'Work on the server failed';
  return { exit: 9, problem: { type: 'about:blank', title, status: 0, detail, code, request_id: '', next } };
}

function failedCall({ io, words, command, args, ctx }: Run): FailedCall {
  const argument = (name: string): string | undefined => {
    const value: unknown = Reflect.get(args?.flags ?? {}, name) ?? Reflect.get(args?.positionals ?? {}, name);
    return typeof value === 'string' ? value : undefined;
  };
  return {
    words,
    credential: envCredential(io.env, command),
    app: argument('app'),
    table: argument('table'),
    connector: argument('connector'),
    profile: ctx?.globals.profile,
    baseUrl: io.env.SVC_BASE_URL || undefined,
  };
}

/** A newer server may send error codes that this version does not know. */
function exitCodeForStatus(status: number): ExitCode {
  const known: Record<number, ExitCode> = { 401: 3, 403: 4, 404: 5, 409: 6, 412: 6, 429: 8 };
  return known[status] ?? (status >= 500 ? 13 : status >= 400 ? 7 : 1);
}

function clientReport(cause: unknown, { words, ctx }: Run): Report {
  const error = cause instanceof CliError ? cause : toCliError(cause);
  const { exit, title } = clientCodes[error.code];
  const help =
    error.code === 'usage' ? `See ${['svc', words, '--help'].filter(Boolean).join(' ')}.` : undefined;
  return {
    exit,
    problem: {
      type: 'about:blank',
      title,
      status: 0,
      detail: error.code === 'interrupted' ? interruptedText(error, ctx) : error.message,
      code: error.code,
      request_id: cause instanceof UnexpectedAnswerError ? (cause.requestId ?? '') : '',
      next: error.next ?? help,
    },
  };
}

/** An interruption with a text of its own knows that nothing was sent. */
function interruptedText({ message }: CliError, ctx: OpenContext | undefined): string {
  return message === 'Interrupted.' && ctx?.mutation.mode === 'execute'
    ? 'Interrupted. The server may already have made the change.'
    : message;
}

function toCliError(cause: unknown): CliError {
  if (cause instanceof UnexpectedAnswerError) {
    const code = cause.status >= 500 ? 'bad_gateway' : 'not_this_service';
    return new CliError(code, cause.message, {
      next: 'Check SVC_BASE_URL and any proxy between svc and the server.',
    });
  }
  const message = cause instanceof Error ? cause.message : String(cause);
  return new CliError('bug', message, {
    next: 'This is a bug in svc. Run the command again with --verbose and report it.',
    cause,
  });
}
