import { platformTenantId } from '../../core/context.ts';
import { type OperatorDeps, runAs } from '../../core/mutation.ts';
import { Failure, fail } from '../../core/problem.ts';
import { sha256 } from '../../core/values.ts';
import { addressGroup } from '../../http/client-address.ts';
import type { RequestInfo } from '../../http/handlers.ts';
import { readBody } from '../../http/read-body.ts';
import { loadPasswordRules } from '../../people/users/users.ts';
import { recordAttempt } from '../account/attempts.ts';
import { findResetUser, resetMailTopic, resetPassword } from '../account/password.ts';
import { anonymousCaller, userCaller } from '../account/sign-ins.ts';
import { type Page, pageResponse } from './pages/layout.ts';
import { forgotPage, messagePage, noticePage, resetPage } from './pages/pages.ts';
import { requireSameSite } from './web-context.ts';

interface ResetDeps extends OperatorDeps {
  baseUrl: string;
  canResetPassword: boolean;
}

type Handle = (request: Request, url: URL, info: RequestInfo) => Promise<Response>;

const formBytesMax = 16 * 1024;
const mailsPerAccountMax = 3;
const mailsPerAddressMax = 10;

const show = (page: Page, status = 200, headers: Record<string, string> = {}) =>
  pageResponse(page, { status, headers });

const sentPage = noticePage({
  title: 'Check your e-mail',
  text: 'If there is an account with a password for this address, a link is on its way. It works for one hour.',
  link: { href: '/login', label: 'Back to sign-in' },
});

export function createResetPages(deps: ResetDeps): Handle {
  return async (request, url, info) => {
    if (!deps.canResetPassword) {
      const text = 'This server does not reset passwords by e-mail. Ask your administrator.';
      const link = { href: '/login', label: 'Back to sign-in' };
      return show(messagePage({ title: 'Not available', text, requestId: info.requestId, link }), 404);
    }
    const isForgot = url.pathname === '/login/forgot';
    if (request.method === 'GET' || request.method === 'HEAD') {
      if (isForgot) return show(forgotPage({ email: '', error: null }));
      return showReset(url.searchParams.get('token') ?? '', info, null);
    }
    if (request.method !== 'POST')
      throw fail('method_not_allowed', { headers: { allow: 'GET, HEAD, POST' } });
    requireSameSite({ get: (name) => request.headers.get(name) ?? '' }, deps.baseUrl);
    const form = await readForm(request);
    return isForgot ? send(form, info) : reset(form, info);
  };

  /** The same response whether or not there is such an account. */
  async function send(form: URLSearchParams, info: RequestInfo): Promise<Response> {
    const email = (form.get('email') ?? '').trim().slice(0, 320);
    if (!/^[^\s@]+@[^\s@]+$/.test(email) || /\p{Cc}/u.test(email))
      return show(forgotPage({ email, error: 'This is not an e-mail address.' }), 400);
    const address = { key: `reset:address:${addressGroup(info.clientAddress)}`, max: mailsPerAddressMax };
    const seconds = await recordAttempt(deps.db, [address]);
    if (seconds !== null) {
      const error = `Too many attempts. Wait ${seconds} seconds, then try again.`;
      return show(forgotPage({ email, error }), 429, { 'retry-after': String(seconds) });
    }
    const account = { key: `reset:account:${sha256(email.toLowerCase())}`, max: mailsPerAccountMax };
    if ((await recordAttempt(deps.db, [account])) === null) {
      const change = { name: resetMailTopic, auditTenantId: platformTenantId, requestId: info.requestId };
      await runAs(deps, anonymousCaller(info.clientAddress), change, async (ctx) =>
        ctx.enqueue(resetMailTopic, { email, at: ctx.now.toISOString() }),
      );
    }
    return show(sentPage);
  }

  async function showReset(token: string, info: RequestInfo, error: string | null): Promise<Response> {
    return (await findResetUser(deps.db, { token }))
      ? show(resetPage({ token, error }), error === null ? 200 : 400)
      : showExpired(info);
  }

  async function reset(form: URLSearchParams, info: RequestInfo): Promise<Response> {
    const [token, password] = [form.get('token') ?? '', form.get('password') ?? ''];
    const user = await findResetUser(deps.db, { token });
    if (!user) return showExpired(info);
    if (password !== form.get('repeated')) return showReset(token, info, 'The two passwords differ.');
    await loadPasswordRules();
    const change = { name: 'account.reset_password', auditTenantId: platformTenantId };
    try {
      const changed = await runAs(deps, userCaller(user), { ...change, requestId: info.requestId }, (ctx) =>
        resetPassword(ctx, { token, password }),
      );
      if (!changed) return showExpired(info);
    } catch (error) {
      const reason = error instanceof Failure && error.code === 'validation_failed' && error.errors?.[0];
      if (!reason) throw error;
      return showReset(token, info, `The password ${reason.detail}.`);
    }
    const text = 'You were signed out everywhere. Sign in with the new password.';
    return show(noticePage({ title: 'Password set', text, link: { href: '/login', label: 'Sign in' } }));
  }

  function showExpired({ requestId }: RequestInfo): Response {
    const text = 'It was used, has expired, or a newer one was sent. Ask for a new link.';
    const link = { href: '/login/forgot', label: 'Send a new link' };
    return show(messagePage({ title: 'This link is no longer valid', text, requestId, link }), 400);
  }
}

async function readForm(request: Request): Promise<URLSearchParams> {
  if (!request.headers.get('content-type')?.startsWith('application/x-www-form-urlencoded'))
    throw fail('unsupported_media_type');
  return new URLSearchParams(Buffer.from(await readBody(request, { bytesMax: formBytesMax })).toString());
}
