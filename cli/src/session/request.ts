import { answerError, UnexpectedAnswerError } from '@svc/contract/problem.ts';
import type { Ctx } from '../context.ts';
import { CliError } from '../framework/errors.ts';
import { version } from '../version.ts';

export async function request(ctx: Ctx, url: string, init: RequestInit): Promise<Response> {
  return send(ctx, url, init, async (answer) => {
    const body = await answer.text();
    return new Response(body === '' ? null : body, answer);
  });
}

export async function openRequest(ctx: Ctx, url: string, init: RequestInit): Promise<Response> {
  return send(ctx, url, init, async (answer) => answer);
}

async function send(
  ctx: Ctx,
  url: string,
  init: RequestInit,
  read: (answer: Response) => Promise<Response>,
): Promise<Response> {
  const startedAt = performance.now();
  const log = (answer: Response | null) => {
    if (ctx.globals.verbose) ctx.io.err(requestLine(url, init.method ?? 'GET', startedAt, answer));
  };
  try {
    // Redirects are not followed: a login must not reach another server.
    const headers = new Headers(init.headers);
    // Shown to the person in the list of sessions.
    headers.set('user-agent', `svc/${version} ${process.platform}`);
    const answer = await ctx.io.fetch(url, {
      ...init,
      headers,
      signal: init.signal ?? ctx.signal,
      redirect: 'manual',
    });
    const result = await read(answer);
    log(answer);
    return result;
  } catch (cause) {
    log(null);
    throw requestError(ctx, url, cause);
  }
}

function requestError(ctx: Ctx, url: string, cause: unknown): unknown {
  if (ctx.signal.aborted) return ctx.signal.reason;
  if (cause instanceof CliError || !(cause instanceof Error)) return cause;
  const code = 'code' in cause && typeof cause.code === 'string' ? ` (${cause.code})` : '';
  return new CliError('no_connection', `No connection to ${new URL(url).origin}${code}.`, {
    next: 'Check that the server is running and that SVC_BASE_URL is correct.',
    cause,
  });
}

/** A signed URL is a secret: the error names its origin and folder only. */
export async function signedUrlError(response: Response, url: string): Promise<Error> {
  const { origin, pathname } = new URL(url);
  const shown = `${origin}/${pathname.split('/')[1]}/…`;
  const body: unknown = await response.json().catch(() => undefined);
  return body === undefined
    ? new UnexpectedAnswerError(response.status, shown, response.headers.get('x-request-id'))
    : answerError(response, shown, body);
}

/** URL, status and time only: headers and bodies hold secrets, and so do signed paths and tokens in the query. */
function requestLine(url: string, method: string, startedAt: number, response: Response | null): string {
  const { origin, pathname, search } = new URL(url);
  const path = pathname.replace(/^\/(objects|uploads|sources)\/[^/]*/, '/$1/…');
  const query = search.replace(/([?&]token=)[^&]*/g, '$1…');
  const requestId = response?.headers.get('x-request-id');
  const outcome = [response === null ? 'failed' : String(response.status), requestId].filter(Boolean);
  const ms = Math.round(performance.now() - startedAt);
  return `${method} ${origin}${path}${query} ${outcome.join(' ')} ${ms}ms\n`;
}

export function loginCommand(profile: string | undefined): string {
  return profile === undefined ? 'svc login' : `svc login --profile ${profile}`;
}
