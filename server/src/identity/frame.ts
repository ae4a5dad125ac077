import type { EventEmitter } from 'node:events';
import type { ErrorOut, KoaContextWithOIDC, Provider } from 'oidc-provider';
import type { Logger } from 'pino';
import { failureOfDatabase } from '../plumbing/database-errors.ts';
import { Failure, fail } from '../plumbing/problem.ts';
import { formTarget } from './pages/layout.ts';
import { continuePage, messagePage } from './pages/message.ts';
import { type Middleware, requestIdOf, showPage, statusOf, type WebContext } from './web-context.ts';

/** Around everything the provider answers: errors become pages, and its self-submitting forms become ours. */
export function createFrame(log: Logger): Middleware {
  return async (ctx, next) => {
    try {
      await next();
    } catch (error) {
      showFailure(ctx, error, log);
      return;
    }
    if (ctx.body === undefined && ctx.status === 404) showUnknown(ctx);
    else if (typeof ctx.body === 'string') replaceScriptedForm(ctx, ctx.body);
  };
}

/** The provider's own refusals, for those who came with a browser. */
export function renderError(ctx: KoaContextWithOIDC, out: ErrorOut, error: Error): void {
  showPage(ctx, messagePage({ ...wordsFor(out, error), requestId: requestIdOf(ctx) }), ctx.status);
}

/** Faults go to the log with their cause. One of the database is not ours to be blamed for: 503. */
export function listenForFaults(provider: Provider, log: Logger): void {
  provider.on('server_error', (ctx, error) => {
    const failure = failureOfDatabase(error);
    log.error(
      { err: error, request_id: requestIdOf(ctx), route: ctx.oidc.route },
      'the OpenID provider failed',
    );
    if (failure?.code !== 'unavailable' && failure?.code !== 'query_timeout') return;
    ctx.status = 503;
    ctx.set('retry-after', '1');
    if (ctx.body && !ctx.response.is('html')) ctx.body = { error: 'temporarily_unavailable' };
  });
  // Koa prints to stderr what nobody listens for; a client that went away is no news.
  const emitter: EventEmitter = provider;
  emitter.on('error', (error) => log.debug({ err: error }, 'while answering'));
}

function wordsFor(out: ErrorOut, error: Error): { title: string; text: string } {
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
    text: `The app or link that brought you here asked for something that can not be done${detail}.`,
  };
}

const expired = {
  title: 'This page has expired',
  text: 'The sign-in took too long, or was finished in another tab. Go back to where you came from and start again.',
};

function showFailure(ctx: WebContext, error: unknown, log: Logger): void {
  const requestId = requestIdOf(ctx);
  const link = { href: '/', label: 'Go to the start page' };
  if (error instanceof Error && (error.name === 'SessionNotFound' || isUnsavedSession(ctx, error))) {
    showPage(ctx, messagePage({ ...expired, requestId, link }), 400);
    return;
  }
  const failure =
    error instanceof Failure ? error : (failureOfDatabase(error) ?? fail('internal', {}, { cause: error }));
  if (failure.cause) log.error({ err: failure.cause, request_id: requestId }, 'a sign-in page failed');
  const status = statusOf(failure);
  const title = status >= 500 ? 'Something went wrong' : 'That did not work';
  const text =
    status >= 500
      ? 'We can not answer just now. Please try again in a moment.'
      : (failure.detail ?? 'The request was refused. Go back and try again.');
  const headers: Record<string, string> = status === 503 ? { 'retry-after': '1' } : {};
  showPage(ctx, messagePage({ title, text, requestId, link }), status, headers);
}

/**
 * Whoever sends the form for a device's code without having been given it is refused, and the provider then wants to
 * save a session that it never began (`ensureSessionSave` of its `initialize_app.js`).
 */
function isUnsavedSession(ctx: WebContext, error: Error): boolean {
  return ctx.status < 500 && error instanceof TypeError && /previously persisted Session/.test(error.message);
}

function showUnknown(ctx: WebContext): void {
  const view = { title: 'Not found', text: 'There is no page at this address.', requestId: requestIdOf(ctx) };
  if (ctx.accepts('json', 'html') === 'html') showPage(ctx, messagePage(view), 404);
}

/** Where the protocol posts a form by script, the visitor gets a button instead: no script runs on our pages. */
function replaceScriptedForm(ctx: WebContext, body: string): void {
  if (!body.includes('<title>Submitting Callback</title>')) return;
  const action = /<form method="post" action="([^"]*)">/.exec(body)?.[1];
  if (action === undefined) throw new Error('The form that the OpenID provider made can not be read.');
  const inputs = [...body.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"\/>/g)].map(
    ([, name = '', value = '']) => ({ name: unescaped(name), value: unescaped(value) }),
  );
  const target = unescaped(action);
  showPage(ctx, continuePage({ action: target, inputs, formTargets: formTarget(target) }), ctx.status);
}

const entities: Record<string, string> = {
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
  '&amp;': '&',
};

function unescaped(text: string): string {
  return text.replace(/&(?:lt|gt|quot|#39|amp);/g, (entity) => entities[entity] ?? entity);
}
