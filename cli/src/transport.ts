import type { Ctx } from './context.ts';

/** One request: bounded by the command's time, shown with --verbose, its failures turned into ours. */
export async function request(ctx: Ctx, url: string, init: RequestInit): Promise<Response> {
  const began = performance.now();
  try {
    const response = await ctx.io.fetch(url, { ...init, signal: ctx.signal, redirect: 'manual' });
    if (ctx.globals.verbose) await show(ctx, url, init, began, response);
    return response;
  } catch (cause) {
    if (ctx.globals.verbose) await show(ctx, url, init, began, null);
    throw await (await import('./request-error.ts')).requestError(ctx, url, cause);
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
    throw await (await import('./request-error.ts')).requestError(ctx, url, cause);
  }
}

async function show(
  ctx: Ctx,
  url: string,
  init: RequestInit,
  began: number,
  response: Response | null,
): Promise<void> {
  const { requestLine } = await import('./request-line.ts');
  ctx.io.err(requestLine(url, init.method ?? 'GET', Math.round(performance.now() - began), response));
}
