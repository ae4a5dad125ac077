import { ProblemError, UnexpectedAnswerError } from '@svc/contract/client.ts';
import { errorCodes, isErrorCode } from '@svc/contract/error-codes.ts';
import type { ExitCode } from '@svc/contract/exit-codes.ts';
import type { Problem } from '@svc/contract/problem.ts';
import type { OpenContext, Run } from './context.ts';
import { AdvisedProblem, BrokenPipeError, CliError, clientCodes, WorkFailed } from './errors.ts';
import { formatAsked } from './format-asked.ts';
import { type Asked, credentialOf, nextStep } from './next-step.ts';
import { plain } from './output.ts';

/** Says on standard error what failed, by which code, and what to do; returns the exit code. */
export function reportError(run: Run, cause: unknown): number {
  const { io, words, ctx } = run;
  // The reader has what it wanted: `svc … | head` is no failure.
  if (cause instanceof BrokenPipeError) return 0;
  const format = ctx?.globals.format ?? formatAsked(io.argv);
  const report =
    cause instanceof ProblemError
      ? ofProblem(cause, askedOf(run))
      : cause instanceof WorkFailed
        ? ofWork(cause)
        : ofClient(cause, words, ctx);
  if (format === 'json' || format === 'jsonl') {
    // One line, the last: progress may stand before it, and does not hinder who reads it.
    io.err(`${JSON.stringify(report.problem)}\n`);
    return report.exit;
  }
  ctx?.flushNotes();
  io.err(text(report));
  if (ctx?.globals.verbose && cause instanceof Error && cause.cause instanceof Error) {
    io.err(`Cause: ${plain(cause.cause.message)}\n`);
  }
  return report.exit;
}

interface Report {
  exit: ExitCode;
  /** The server's, or one of the same form with a code of ours and the next step. */
  problem: Omit<Problem, 'code'> & { code: string; next?: string };
  next?: string | undefined;
}

function text({ problem, next }: Report): string {
  const said = problem.detail ?? problem.title ?? '';
  const items = (problem.errors ?? []).map((item) => {
    const line = item.line === undefined ? [] : [`line ${item.line}`];
    const where = [...line, item.field ?? item.column ?? []].flat().join(', ');
    return `${where === '' ? '' : `${where}: `}${item.detail}`;
  });
  return [
    `Error: ${plain(said)} (${plain(problem.code)})\n`,
    ...items
      .filter((item, at) => !isSame(item, said) && !(at === 0 && isPlaced(problem, said)))
      .map((item) => `  ${plain(item)}\n`),
    ...(next === undefined ? [] : [`Next: ${next}\n`]),
    ...(problem.request_id === '' ? [] : [`Request id: ${plain(problem.request_id)}\n`]),
  ].join('');
}

/** The first fault is often the whole of the message. */
function isSame(item: string, said: string): boolean {
  const [a, b] = [item, said].map((text) => text.replaceAll(/[\s.,:]/g, ''));
  return a === b;
}

/** `svc.yaml:7:3: unknown key` says the line of the first fault already. */
function isPlaced({ errors }: Report['problem'], said: string): boolean {
  const [first] = errors ?? [];
  return first?.line !== undefined && said.includes(`:${first.line}:`) && said.endsWith(first.detail);
}

function ofProblem(error: ProblemError, asked: Asked): Report {
  const { problem } = error;
  const exit = isErrorCode(problem.code) ? errorCodes[problem.code].exit : exitOfStatus(problem.status);
  const next =
    error instanceof AdvisedProblem ? error.next : nextStep(problem.code, asked, error.retryAfterSeconds);
  return { exit, problem: { ...problem, ...(next !== undefined && { next }) }, next };
}

function ofWork({ code, message: detail, next }: WorkFailed): Report {
  const title = 'The work at the server failed';
  return {
    exit: 9,
    problem: { ...{ type: 'about:blank', title, status: 0, detail, code }, request_id: '', next },
    next,
  };
}

function askedOf({ io, words, args, ctx }: Run): Asked {
  const app: unknown = Reflect.get(args?.flags ?? {}, 'app') ?? Reflect.get(args?.positionals ?? {}, 'app');
  return {
    words,
    credential: credentialOf(io.env, words),
    app: typeof app === 'string' ? app : undefined,
    profile: ctx?.globals.profile,
    baseUrl: io.env.SVC_BASE_URL || undefined,
  };
}

/** For codes that a newer server knows and this tool does not. */
function exitOfStatus(status: number): ExitCode {
  const known: Record<number, ExitCode> = { 401: 3, 403: 4, 404: 5, 409: 6, 412: 6, 429: 8 };
  return known[status] ?? (status >= 500 ? 13 : status >= 400 ? 7 : 1);
}

function ofClient(cause: unknown, words: string, ctx: OpenContext | undefined): Report {
  const error = cause instanceof CliError ? cause : fault(cause);
  const { exit, title } = clientCodes[error.code];
  const next =
    error.next ??
    (error.code === 'usage' ? `See ${['svc', words, '--help'].filter(Boolean).join(' ')}.` : undefined);
  const detail = error.code === 'interrupted' ? interruptedText(error, ctx) : error.message;
  return {
    exit,
    problem: {
      type: 'about:blank',
      title,
      status: 0,
      detail,
      code: error.code,
      request_id: requestIdOf(cause),
      ...(next !== undefined && { next }),
    },
    next,
  };
}

/** Who is interrupted where nothing has been sent knows that nothing has happened, and says so. */
function interruptedText({ message }: CliError, ctx: OpenContext | undefined): string {
  if (message !== 'Interrupted.') return message;
  return ctx?.mutation.mode === 'execute'
    ? 'Interrupted. The server may have made the change already.'
    : message;
}

function fault(cause: unknown): CliError {
  if (cause instanceof UnexpectedAnswerError) {
    const code = cause.status >= 500 ? 'bad_gateway' : 'not_this_service';
    return new CliError(code, cause.message, { next: 'Check SVC_BASE_URL, and any proxy in between.' });
  }
  const message = cause instanceof Error ? cause.message : String(cause);
  return new CliError('bug', message, {
    next: 'This is a fault of svc; run again with --verbose and report it.',
    cause,
  });
}

function requestIdOf(cause: unknown): string {
  return cause instanceof UnexpectedAnswerError ? (cause.requestId ?? '') : '';
}
