import { createHmac, timingSafeEqual } from 'node:crypto';
import { errorCodes } from '@svc/contract/error-codes.ts';
import type { Provider } from 'oidc-provider';
import type { LiveKey } from '../../core/keys.ts';
import { type Failure, fail } from '../../core/problem.ts';
import { type Page, renderPage } from './pages/layout.ts';

/** In this order: most browsers also name the ones that they are compatible with. */
const programs: readonly [RegExp, string][] = [
  [/^svc\//, 'svc command line'],
  [/\bEdgA?\/|\bEdgiOS\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\bFirefox\/|\bFxiOS\//, 'Firefox'],
  [/\bHeadlessChrome\/|\bChrome\/|\bCriOS\/|\bChromium\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
  [/^curl\//, 'curl'],
];
const systems: readonly [RegExp, string][] = [
  [/\biPhone\b|\biPod\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b|\bwin32\b/, 'Windows'],
  [/\bMac OS X\b|\bMacintosh\b|\bdarwin\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b|\blinux\b/, 'Linux'],
];

/** Such as "Firefox on Linux". The text is the client's claim and is shown to its owner only. */
export function describeDevice(userAgent: string): string {
  const find = (list: typeof programs) => list.find(([pattern]) => pattern.test(userAgent))?.[1];
  const [program, system] = [find(programs), find(systems)];
  if (program && system) return `${program} on ${system}`;
  return program ?? system ?? 'Unknown device';
}

export type Middleware = Parameters<Provider['use']>[0];
export type WebContext = Parameters<Middleware>[0];

/** Set by this server, never taken from the client. */
export const clientAddressHeader = 'x-svc-client-address';
export const forwardedHeader = 'x-svc-forwarded';
export const requestIdHeader = 'x-request-id';

interface RequestHeaders {
  get(header: string): string;
}

export function getClientAddress(ctx: RequestHeaders): string {
  return ctx.get(clientAddressHeader);
}

export function wasForwarded(ctx: RequestHeaders): boolean {
  return ctx.get(forwardedHeader) !== '';
}

export function getDevice(ctx: RequestHeaders): string {
  return describeDevice(ctx.get('user-agent'));
}

export function getRequestId(ctx: RequestHeaders): string {
  return ctx.get(requestIdHeader);
}

export function showPage(
  ctx: { status: number; body: unknown; set(headers: Record<string, string>): void },
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

export function cookieOptions(baseUrl: string) {
  const secure = baseUrl.startsWith('https:');
  return { httpOnly: true, sameSite: 'lax', signed: true, overwrite: true, secure } as const;
}

export function secureCookieName(baseUrl: string, name: string): string {
  return baseUrl.startsWith('https:') ? `__Secure-${name}` : name;
}

/** Second line of defence behind SameSite cookies. Our pages send no referrer, so their posts have `Origin: null`. */
export function requireSameSite(ctx: RequestHeaders, origin: string): void {
  const site = ctx.get('sec-fetch-site');
  const from = ctx.get('origin');
  const isOwnSite = site === '' || site === 'same-origin' || site === 'none';
  if (!isOwnSite || (from !== '' && from !== 'null' && from !== origin)) throw fail('cross_site_request');
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

export function httpStatus(failure: Failure): number {
  return errorCodes[failure.code].status;
}

/** Signs cookies with the first key and verifies with all, in the interface that Koa expects. */
export class CookieSigner {
  readonly #keys: LiveKey<readonly string[]>;

  constructor(keys: LiveKey<readonly string[]>) {
    this.#keys = keys;
  }

  sign(data: string): string {
    return signature(data, this.#keys.current()[0] ?? '');
  }

  verify(data: string, signed: string): boolean {
    return this.index(data, signed) >= 0;
  }

  /** The current key first: Koa signs a cookie again if another one matches. */
  #all(): readonly string[] {
    return [...new Set([...this.#keys.current(), ...this.#keys.accepted().flat()])];
  }

  index(data: string, signed: string): number {
    return this.#all().findIndex((key) => {
      const expected = Buffer.from(signature(data, key));
      const presented = Buffer.from(signed);
      return presented.length === expected.length && timingSafeEqual(presented, expected);
    });
  }
}

function signature(data: string, key: string): string {
  return createHmac('sha256', key).update(data).digest('base64url');
}
