import type { Provider } from 'oidc-provider';
import { fail } from '../plumbing/problem.ts';
import { sessionCookieOf } from './presented-credential.ts';
import { type Middleware, redirect, refuseOtherSites } from './web-context.ts';

/** Ends the browser's session; a page of ours asked for it, so nobody is asked again. */
export function createLogout(parts: { provider: Provider; baseUrl: string }): Middleware {
  return async (ctx, next) => {
    if (ctx.path !== '/logout') return next();
    if (ctx.method !== 'POST') throw fail('method_not_allowed', { headers: { allow: 'POST' } });
    refuseOtherSites(ctx, parts.baseUrl);
    const session = await parts.provider.Session.get(ctx);
    await session.destroy();
    const secure = parts.baseUrl.startsWith('https:');
    ctx.cookies.set(sessionCookieOf(parts.baseUrl), null, {
      path: '/',
      signed: true,
      overwrite: true,
      secure,
    });
    redirect(ctx, '/');
  };
}
