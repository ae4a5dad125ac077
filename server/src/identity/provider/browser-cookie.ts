import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';
import { sha256 } from '../../core/values.ts';
import { hostCookieName } from '../credentials/find-credential.ts';
import { cookieOptions, getClientAddress, getDevice, type Middleware } from './web-context.ts';

const yearMs = 365 * 24 * 3600_000;

/** Of the current request; `browser` is the hash of the cookie that identifies it. */
export interface RequestOrigin {
  browser: string;
  address: string;
  device: string;
}

const current = new AsyncLocalStorage<RequestOrigin>();

/** Null outside of a request. */
export function currentOrigin(): RequestOrigin | null {
  return current.getStore() ?? null;
}

/**
 * A browser gets a random id. A sign-in can only be finished by the browser that began it, so that cookies of a
 * sign-in, planted by another host of the domain, are of no use. On https other hosts cannot set this cookie.
 */
export function createBrowserCookie({ baseUrl }: { baseUrl: string }): Middleware {
  const name = hostCookieName(baseUrl, 'svc_browser');
  const options = { ...cookieOptions(baseUrl), signed: false, path: '/', maxAge: yearMs };
  return async (ctx, next) => {
    const sent = ctx.cookies.get(name, { signed: false });
    const origin = (id: string) => ({
      browser: sha256(id),
      address: getClientAddress(ctx),
      device: getDevice(ctx),
    });
    if (sent && /^[\w-]{43}$/.test(sent)) return current.run(origin(sent), next);
    const id = randomBytes(32).toString('base64url');
    await current.run(origin(id), next);
    // Endpoints for programs, such as the token endpoint, set no cookies.
    const isPage =
      ctx.method === 'GET' || ctx.method === 'POST' ? /^\/(auth|device|interaction)\b/.test(ctx.path) : false;
    if (isPage) ctx.cookies.set(name, id, options);
  };
}
