import type { Client, ErrorOut, KoaContextWithOIDC, Provider, UnknownObject } from 'oidc-provider';
import type { Db } from '../plumbing/db.ts';
import { findUser } from '../users/find-user.ts';
import { giveBackAttempt, takeAttempt, userCodeLimits } from './login-attempts.ts';
import { deviceCodePage, deviceConfirmPage, deviceDeniedPage, deviceDonePage } from './pages/device.ts';
import { messagePage } from './pages/message.ts';
import { sessionCookieOf } from './presented-credential.ts';
import { clientAddressOf, type Middleware, redirect, requestIdOf, showPage } from './web-context.ts';

export const devicePath = '/device';
const deviceAction = `/oauth${devicePath}`;

/** The pages on which a person approves a device; who asks stands on the last one, so signing in comes first. */
export function createDevicePages(db: Db) {
  return {
    deviceInfo: (ctx: KoaContextWithOIDC) => ({ address: clientAddressOf(ctx) }),

    userCodeInputSource(ctx: KoaContextWithOIDC, _form: string, _out?: ErrorOut, error?: Error): void {
      if (error?.name === 'AbortedError') {
        showPage(ctx, deviceDeniedPage(), 200);
        return;
      }
      ctx.state.codeUnknown = error?.name === 'NotFoundError';
      const entered = error ? stringOf(ctx.oidc.params?.user_code) : stringOf(ctx.state.givenCode);
      const view = { action: deviceAction, xsrf: xsrfOf(ctx), userCode: entered, error: wordsFor(error) };
      showPage(ctx, deviceCodePage(view), error ? 400 : 200);
    },

    async userCodeConfirmSource(
      ctx: KoaContextWithOIDC,
      _form: string,
      client: Client,
      deviceInfo: UnknownObject | undefined,
      userCode: string,
    ): Promise<void> {
      const accountId = ctx.oidc.session?.accountId;
      const user = accountId === undefined ? null : await findUser({ db }, { ref: accountId });
      const page = deviceConfirmPage({
        action: deviceAction,
        xsrf: xsrfOf(ctx),
        clientName: client.clientName ?? client.clientId,
        userCode,
        enteredCode: stringOf(ctx.oidc.params?.user_code),
        signedInAs: user?.email ?? null,
        requestedFrom: stringOf(deviceInfo?.address) || null,
      });
      showPage(ctx, page, 200);
    },

    successSource(ctx: KoaContextWithOIDC): void {
      const client = ctx.oidc.client;
      showPage(ctx, deviceDonePage({ clientName: client?.clientName ?? client?.clientId ?? '' }), 200);
    },
  };
}

/** Signs people in before they enter a code, and stops those who guess codes. */
export function createDeviceGate(parts: { db: Db; provider: Provider; baseUrl: string }): Middleware {
  const { db, provider } = parts;
  const sessionCookie = sessionCookieOf(parts.baseUrl);
  return async (ctx, next) => {
    if (ctx.path !== devicePath) return next();
    if (ctx.method === 'GET') {
      const session = await provider.Session.get(ctx);
      const user =
        session.accountId === undefined ? null : await findUser({ db }, { ref: session.accountId });
      if (user?.status !== 'active') {
        return redirect(ctx, `/login?return_to=${encodeURIComponent(`${deviceAction}${ctx.search}`)}`);
      }
      // Given in the address, the provider would submit it by script; here it waits in the form for the visitor.
      ctx.state.givenCode = new URLSearchParams(ctx.search).get('user_code')?.slice(0, 16) ?? '';
      ctx.search = '';
      return next();
    }
    if (ctx.method !== 'POST') return next();
    const limits = userCodeLimits(clientAddressOf(ctx), ctx.cookies.get(sessionCookie));
    const seconds = await takeAttempt(db, limits);
    if (seconds !== null) {
      const text = `Too many codes were tried. Wait ${seconds} seconds, then try again.`;
      const view = { title: 'Too many tries', text, requestId: requestIdOf(ctx) };
      return showPage(ctx, messagePage(view), 429, { 'retry-after': String(seconds) });
    }
    await next();
    if (ctx.state.codeUnknown !== true) await giveBackAttempt(db, limits);
  };
}

function wordsFor(error: Error | undefined): string | null {
  switch (error?.name) {
    case undefined:
      return null;
    case 'NotFoundError':
      return 'There is no such code. Check it and try again.';
    case 'ExpiredError':
      return 'This code has expired. Start again on your device to get a new one.';
    case 'AlreadyUsedError':
      return 'This code has been used. Start again on your device to get a new one.';
    case 'NoCodeError':
      return 'Enter the code that your device shows.';
    default:
      return 'The form was out of date, or something went wrong. Enter the code again.';
  }
}

function xsrfOf(ctx: KoaContextWithOIDC): string {
  return stringOf(ctx.oidc.session?.state?.secret);
}

function stringOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
