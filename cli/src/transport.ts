import type { Ctx } from './context.ts';
import { CliError } from './errors.ts';

/** One request: bounded by the command's time, shown with --verbose, its failures turned into ours. */
export async function request(ctx: Ctx, url: string, init: RequestInit): Promise<Response> {
  const began = performance.now();
  try {
    const response = await ctx.io.fetch(url, { ...init, signal: ctx.signal, redirect: 'manual' });
    show(ctx, url, init, began, `${response.status} ${response.headers.get('x-request-id') ?? ''}`);
    return response;
  } catch (cause) {
    show(ctx, url, init, began, 'failed');
    throw requestError(ctx, url, cause);
  }
}

/** The answer with its body already here, so that nothing can fail any more while it is read. */
export async function requestWhole(ctx: Ctx, url: string, init: RequestInit): Promise<Response> {
  const response = await request(ctx, url, init);
  const body = await bodyText(ctx, url, response);
  return new Response(body === '' ? null : body, { status: response.status, headers: response.headers });
}

/** The body of an answer can fail as the request can: cut off, or too slow. */
export async function bodyText(ctx: Ctx, url: string, response: Response): Promise<string> {
  try {
    return await response.text();
  } catch (cause) {
    throw requestError(ctx, url, cause);
  }
}

function requestError(ctx: Ctx, url: string, cause: unknown): unknown {
  if (ctx.signal.aborted) return ctx.signal.reason;
  if (cause instanceof CliError || !(cause instanceof Error)) return cause;
  const code = 'code' in cause ? String(cause.code) : '';
  if (!(cause instanceof TypeError) && !/^(?:E[A-Z]+|ConnectionRefused|.*CERT.*|.*TLS.*|.*SSL.*)$/.test(code))
    return cause;
  return new CliError(
    'no_connection',
    `No connection to ${new URL(url).origin}${code === '' ? '' : ` (${code})`}.`,
    {
      next: 'Is the server running, and is SVC_BASE_URL right?',
      cause,
    },
  );
}

/** Address, status and time only: headers and bodies hold secrets. */
function show(ctx: Ctx, url: string, init: RequestInit, began: number, outcome: string): void {
  if (!ctx.globals.verbose) return;
  const { origin, pathname, search } = new URL(url);
  const ms = Math.round(performance.now() - began);
  ctx.io.err(`${init.method ?? 'GET'} ${origin}${pathname}${search} ${outcome.trimEnd()} ${ms}ms\n`);
}
