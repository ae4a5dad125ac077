import type { Client, ErrorOut, KoaContextWithOIDC, Provider, UnknownObject } from 'oidc-provider';
import type { Db } from '../../core/db.ts';
import { findUser } from '../../people/users/users.ts';
import { recordAttempt, refundAttempt, userCodeLimits } from '../account/attempts.ts';
import { recordSignInEvent, type SignInDeps } from '../account/sign-ins.ts';
import { sessionCookieName } from '../credentials/find-credential.ts';
import {
  deviceCodePage,
  deviceConfirmPage,
  deviceDeniedPage,
  deviceDonePage,
  messagePage,
} from './pages/pages.ts';
import {
  getClientAddress,
  getDevice,
  getRequestId,
  type Middleware,
  redirect,
  showPage,
} from './web-context.ts';

export const devicePath = '/device';
const deviceAction = `/oauth${devicePath}`;

export function createDevicePages(deps: SignInDeps) {
  const { db } = deps;
  return {
    deviceInfo: (ctx: KoaContextWithOIDC) => ({ address: getClientAddress(ctx) }),

    userCodeInputSource(ctx: KoaContextWithOIDC, _form: string, _out?: ErrorOut, error?: Error): void {
      if (error?.name === 'AbortedError') {
        showPage(ctx, deviceDeniedPage(), 200);
        return;
      }
      ctx.state.codeUnknown = error?.name === 'NotFoundError';
      const entered = error ? toText(ctx.oidc.params?.user_code) : toText(ctx.state.prefilledCode);
      const text = error ? (errorTexts[error.name] ?? otherErrorText) : null;
      const view = { action: deviceAction, xsrf: xsrfToken(ctx), userCode: entered, error: text };
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
      const user = accountId ? await findUser({ db }, { ref: accountId }) : null;
      const page = deviceConfirmPage({
        action: deviceAction,
        xsrf: xsrfToken(ctx),
        clientName: client.clientName ?? client.clientId,
        userCode,
        enteredCode: toText(ctx.oidc.params?.user_code),
        signedInAs: user?.email ?? null,
        requestedFrom: toText(deviceInfo?.address) || null,
      });
      showPage(ctx, page, 200);
    },

    async successSource(ctx: KoaContextWithOIDC): Promise<void> {
      const client = ctx.oidc.client;
      const accountId = ctx.oidc.session?.accountId;
      const user = accountId ? await findUser({ db }, { ref: accountId }) : null;
      if (user)
        await recordSignInEvent(deps, {
          address: getClientAddress(ctx),
          device: getDevice(ctx),
          requestId: getRequestId(ctx),
          action: 'account.approve_device',
          user,
          method: 'browser',
        });
      showPage(ctx, deviceDonePage({ clientName: client?.clientName ?? client?.clientId ?? '' }), 200);
    },
  };
}

export function createDeviceGate(deps: { db: Db; provider: Provider; baseUrl: string }): Middleware {
  const { db, provider } = deps;
  const sessionCookie = sessionCookieName(deps.baseUrl);
  return async (ctx, next) => {
    if (ctx.path !== devicePath) return next();
    if (ctx.method === 'GET') {
      const session = await provider.Session.get(ctx);
      const user = session.accountId ? await findUser({ db }, { ref: session.accountId }) : null;
      if (user?.status !== 'active')
        return redirect(ctx, `/login?return_to=${encodeURIComponent(`${deviceAction}${ctx.search}`)}`);
      // The provider would submit a code from the URL by script; the form is prefilled instead.
      ctx.state.prefilledCode = new URLSearchParams(ctx.search).get('user_code')?.slice(0, 16) ?? '';
      ctx.search = '';
      return next();
    }
    if (ctx.method !== 'POST') return next();
    const limits = userCodeLimits(getClientAddress(ctx), ctx.cookies.get(sessionCookie));
    const seconds = await recordAttempt(db, limits);
    if (seconds !== null) {
      const text = `Too many attempts. Wait ${seconds} seconds, then try again.`;
      const view = { title: 'Too many attempts', text, requestId: getRequestId(ctx) };
      return showPage(ctx, messagePage(view), 429, { 'retry-after': String(seconds) });
    }
    await next();
    if (ctx.state.codeUnknown !== true) await refundAttempt(db, limits);
  };
}

const errorTexts: Record<string, string> = {
  NotFoundError: 'This code does not exist. Check it and try again.',
  ExpiredError: 'This code has expired. Start again on your device to get a new one.',
  AlreadyUsedError: 'This code was already used. Start again on your device to get a new one.',
  NoCodeError: 'Enter the code that your device shows.',
};
const otherErrorText = 'The form has expired, or something went wrong. Enter the code again.';

function xsrfToken(ctx: KoaContextWithOIDC): string {
  return toText(ctx.oidc.session?.state?.secret);
}

function toText(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
