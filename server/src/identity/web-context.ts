import { errorCodes } from '@svc/contract/error-codes.ts';
import type { Provider } from 'oidc-provider';
import { type Failure, fail } from '../plumbing/problem.ts';
import { type Page, renderPage } from './pages/layout.ts';

export type Middleware = Parameters<Provider['use']>[0];
export type WebContext = Parameters<Middleware>[0];

/** Set by us on the way in and never taken from the client. */
export const clientAddressHeader = 'x-svc-client-address';
/** There, with any value, when somebody else passed the request on to us. */
export const forwardedHeader = 'x-svc-forwarded';
export const requestIdHeader = 'x-request-id';

/** What pages need of a context; those of the provider's own callbacks have it as well. */
interface Answer {
  status: number;
  body: unknown;
  set(headers: Record<string, string>): void;
}
interface Asked {
  get(header: string): string;
}

export function clientAddressOf(ctx: Asked): string {
  return ctx.get(clientAddressHeader);
}

export function wasForwarded(ctx: Asked): boolean {
  return ctx.get(forwardedHeader) !== '';
}

export function requestIdOf(ctx: Asked): string {
  return ctx.get(requestIdHeader);
}

export function showPage(
  ctx: Answer,
  page: Page,
  status: number,
  headers: Record<string, string> = {},
): void {
  const rendered = renderPage(page);
  ctx.status = status;
  ctx.set({ ...rendered.headers, ...headers });
  ctx.body = rendered.body;
}

export function redirect(ctx: WebContext, location: string): void {
  ctx.status = 303;
  ctx.set('cache-control', 'no-store');
  ctx.redirect(location);
}

/**
 * Our pages send no referrer, so their posts come with `Origin: null`; browsers that can tell more do so by
 * `Sec-Fetch-Site`. This stands behind the cookies, which other sites' forms do not bring along.
 */
export function refuseOtherSites(ctx: WebContext, origin: string): void {
  const site = ctx.get('sec-fetch-site');
  const from = ctx.get('origin');
  const isOurs = site === '' || site === 'same-origin' || site === 'none';
  if (!isOurs || (from !== '' && from !== 'null' && from !== origin)) throw fail('cross_site_request');
}

const formBytesMax = 16 * 1024;

export async function readForm(ctx: WebContext): Promise<URLSearchParams> {
  if (!ctx.is('application/x-www-form-urlencoded')) throw fail('unsupported_media_type');
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of ctx.req) {
    size += chunk.length;
    if (size > formBytesMax) throw fail('payload_too_large');
    chunks.push(chunk);
  }
  return new URLSearchParams(Buffer.concat(chunks).toString());
}

export function statusOf(failure: Failure): number {
  return errorCodes[failure.code].status;
}
