import type { EventEmitter } from 'node:events';
import type { ErrorOut, KoaContextWithOIDC, Provider } from 'oidc-provider';
import type { Logger } from 'pino';
import { databaseError } from '../../core/db.ts';
import { Failure, fail } from '../../core/problem.ts';
import { formTarget } from './pages/layout.ts';
import { continuePage, messagePage } from './pages/pages.ts';
import { getRequestId, httpStatus, type Middleware, showPage, type WebContext } from './web-context.ts';

export function createFrame(log: Logger): Middleware {
  return async (ctx, next) => {
    try {
      await next();
    } catch (error) {
      showFailure(ctx, error, log);
      return;
    }
    if (ctx.body === undefined && ctx.status === 404) showNotFound(ctx);
    else if (typeof ctx.body === 'string') replaceScriptedForm(ctx, ctx.body);
  };
}

export function renderError(ctx: KoaContextWithOIDC, out: ErrorOut, error: Error): void {
  showPage(ctx, messagePage({ ...errorText(out, error), requestId: getRequestId(ctx) }), ctx.status);
}

/** Logs faults with their cause; a database failure is answered with 503. */
export function listenForFaults(provider: Provider, log: Logger): void {
  provider.on('server_error', (ctx, error) => {
    const failure = databaseError(error);
    log.error({ err: error, request_id: getRequestId(ctx), route: ctx.oidc.route }, 'OpenID provider failed');
    if (failure?.code !== 'unavailable' && failure?.code !== 'query_timeout') return;
    ctx.status = 503;
    ctx.set('retry-after', '1');
    if (ctx.body && !ctx.response.is('html')) ctx.body = { error: 'temporarily_unavailable' };
  });
  // Koa prints unhandled errors to stderr; an aborted connection is not worth that.
  const emitter: EventEmitter = provider;
  emitter.on('error', (error) => log.debug({ err: error }, 'response failed'));
}

function errorText(out: ErrorOut, error: Error): { title: string; text: string } {
  if (error.name === 'SessionNotFound') return expired;
  if (out.error === 'server_error') {
    return {
      title: 'Something went wrong',
      text: 'This is a fault on our side. Please try again in a moment.',
    };
  }
  const detail = out.error_description ? ` (${out.error}: ${out.error_description})` : ` (${out.error})`;
  return {
    title: 'This request is not valid',
    text: `The app or link that brought you here sent an invalid request${detail}.`,
  };
}

const expired = {
  title: 'This page has expired',
  text: 'The sign-in took too long, or was finished in another tab. Go back to where you came from and start again.',
};

function showFailure(ctx: WebContext, error: unknown, log: Logger): void {
  const requestId = getRequestId(ctx);
  const link = { href: '/', label: 'Go to the start page' };
  if (error instanceof Error && (error.name === 'SessionNotFound' || isUnsavedSession(ctx, error))) {
    showPage(ctx, messagePage({ ...expired, requestId, link }), 400);
    return;
  }
  const failure =
    error instanceof Failure ? error : (databaseError(error) ?? fail('internal', {}, { cause: error }));
  if (failure.cause) log.error({ err: failure.cause, request_id: requestId }, 'sign-in page failed');
  const status = httpStatus(failure);
  const title = status >= 500 ? 'Something went wrong' : 'The request failed';
  const text =
    status >= 500
      ? 'The server cannot respond at the moment. Please try again shortly.'
      : (failure.detail ?? 'The request was refused. Go back and try again.');
  const headers: Record<string, string> = status === 503 ? { 'retry-after': '1' } : {};
  showPage(ctx, messagePage({ title, text, requestId, link }), status, headers);
}

/** A device code form without a prior GET is refused; the provider then fails to save a session (`ensureSessionSave` there). */
function isUnsavedSession(ctx: WebContext, error: Error): boolean {
  return ctx.status < 500 && error instanceof TypeError && /previously persisted Session/.test(error.message);
}

function showNotFound(ctx: WebContext): void {
  const view = {
    title: 'Not found',
    text: 'There is no page at this address.',
    requestId: getRequestId(ctx),
  };
  if (ctx.accepts('json', 'html') === 'html') showPage(ctx, messagePage(view), 404);
}

/** Our pages run no scripts: a button replaces the script that submits the form of the protocol. */
function replaceScriptedForm(ctx: WebContext, body: string): void {
  if (!body.includes('<title>Submitting Callback</title>')) return;
  const action = /<form method="post" action="([^"]*)">/.exec(body)?.[1];
  if (action === undefined) throw new Error('cannot parse the form of the OpenID provider');
  const inputs = Object.fromEntries(
    [...body.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"\/>/g)].map(
      ([, name = '', value = '']) => [unescapeHtml(name), unescapeHtml(value)],
    ),
  );
  const target = unescapeHtml(action);
  showPage(ctx, continuePage({ action: target, inputs, formTargets: formTarget(target) }), ctx.status);
}

const entities: Record<string, string> = {
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
  '&amp;': '&',
};

function unescapeHtml(text: string): string {
  return text.replace(/&(?:lt|gt|quot|#39|amp);/g, (entity) => entities[entity] ?? entity);
}
