import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';
import type { Interaction, Provider } from 'oidc-provider';
import { sha256 } from '../../core/values.ts';
import type { UserRecord } from '../../people/users/users.ts';
import { recordSuccess, signInLimits } from '../account/attempts.ts';
import { recordSignInEvent, type SignInDeps, type SignInMethod } from '../account/sign-ins.ts';
import { hostCookieName } from '../credentials/find-credential.ts';
import {
  cookieOptions,
  getClientAddress,
  getDevice,
  getRequestId,
  type Middleware,
  redirect,
  type WebContext,
} from './web-context.ts';

const yearMs = 365 * 24 * 3600_000;

interface RequestOrigin {
  browser: string;
  address: string;
  device: string;
}

const current = new AsyncLocalStorage<RequestOrigin>();

export function currentOrigin(): RequestOrigin | null {
  return current.getStore() ?? null;
}

/** Only the browser that began a sign-in can finish it, so that cookies planted by another host of the domain are of no use. */
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

export function interactionPath(interaction: { uid: string }): string {
  return `/oauth/interaction/${interaction.uid}`;
}

export function signInDetails(ctx: WebContext) {
  return { address: getClientAddress(ctx), device: getDevice(ctx), requestId: getRequestId(ctx) };
}

export function signInOrigin(ctx: WebContext) {
  return { address: getClientAddress(ctx), browser: currentOrigin()?.browser ?? null };
}

export async function finishLogin(
  { provider, ...deps }: SignInDeps & { provider: Provider },
  ctx: WebContext,
  interaction: Interaction,
  { user, method }: { user: Pick<UserRecord, 'id' | 'email'>; method: SignInMethod },
): Promise<void> {
  const origin = signInOrigin(ctx);
  const limits = await signInLimits(deps.db, user.email, origin);
  await recordSuccess(deps.db, limits, { userId: user.id, origin });
  await recordSignInEvent(deps, { ...signInDetails(ctx), action: 'account.sign_in', user, method });
  const session = await provider.Session.get(ctx);
  if (session.accountId !== undefined && session.accountId !== user.id) {
    // Another user was signed in in this browser: nothing of their session may remain.
    await session.destroy();
    interaction.session = undefined;
  }
  interaction.result = {
    ...interaction.lastSubmission,
    login: { accountId: user.id, amr: amrValues[method] },
  };
  await interaction.persist();
  redirect(ctx, interaction.returnTo);
}

/** RFC 8176, which has no value for a sign-in elsewhere. */
const amrValues: Record<SignInMethod, string[]> = {
  password: ['pwd'],
  upstream: ['fed'],
  local: ['user'],
  passkey: ['hwk', 'user', 'mfa'],
  password_and_passkey: ['pwd', 'hwk', 'mfa'],
  password_and_totp: ['pwd', 'otp', 'mfa'],
  password_and_recovery_code: ['pwd', 'otp', 'mfa'],
};
