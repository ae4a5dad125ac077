import type { Client, Interaction, Provider } from 'oidc-provider';
import { fail } from '../../core/problem.ts';
import type { UserRecord } from '../../people/users/rules.ts';
import { findUser } from '../../people/users/users.ts';
import { recordAttempt, recordSuccess, signInLimits } from '../account/attempts.ts';
import { checkPassword } from '../account/password.ts';
import { recordSignInEvent, type SignInDeps, type SignInMethod } from '../account/sign-ins.ts';
import { sessionCookieName } from '../credentials/find-credential.ts';
import { isLoopback, ownClientIds, parseAppClientId } from '../sessions/clients.ts';
import { currentBrowser } from './browser-cookie.ts';
import { formTarget } from './pages/layout.ts';
import { appConsentPage, consentPage, type LoginPage, loginPage } from './pages/pages.ts';
import {
  cookieOptions,
  getClientAddress,
  getDevice,
  getRequestId,
  type Middleware,
  readForm,
  redirect,
  requireSameSite,
  showPage,
  type WebContext,
} from './web-context.ts';

interface InteractionDeps extends SignInDeps {
  provider: Provider;
  baseUrl: string;
  upstreamName: string | null;
  localPasswords: 'on' | 'off';
  canResetPassword: boolean;
}

const pathPattern = /^\/interaction\/([\w-]{1,100})(?:\/(login|confirm|abort))?$/;

export function createInteractions(deps: InteractionDeps): Middleware {
  return async (ctx, next) => {
    const [matched, uid, step] = pathPattern.exec(ctx.path) ?? [];
    if (!matched) return next();
    if (ctx.method !== (step ? 'POST' : 'GET')) throw fail('method_not_allowed');
    if (step) requireSameSite(ctx, deps.baseUrl);
    const interaction = await deps.provider.interactionDetails(ctx.req, ctx.res);
    if (interaction.uid !== uid) throw fail('not_found');
    switch (step) {
      case undefined:
        return show(deps, ctx, interaction);
      case 'login':
        return logIn(deps, ctx, interaction);
      case 'confirm':
        return consent(deps, ctx, interaction);
      case 'abort':
        return abort(deps, ctx);
    }
  };
}

async function show(deps: InteractionDeps, ctx: WebContext, interaction: Interaction): Promise<void> {
  if (interaction.prompt.name === 'login') return showLogin(deps, ctx, interaction, 200);
  const client = await findClient(deps, interaction);
  const user = await findUser(deps, { ref: interaction.session?.accountId ?? '' });
  const name = client.clientName ?? client.clientId;
  const shared = {
    action: interactionPath(interaction),
    signedInAs: user?.email ?? '',
    formTargets: formTargets(interaction),
  };
  if (parseAppClientId(client.clientId) === null) {
    const scopes = parseScope(interaction.params.scope);
    return showPage(ctx, consentPage({ ...shared, clientName: name, scopes }), 200);
  }
  const back = String(interaction.params.redirect_uri);
  const targetHost = URL.parse(back)?.host ?? '';
  showPage(ctx, appConsentPage({ ...shared, appName: name, targetHost, isLoopback: isLoopback(back) }), 200);
}

async function showLogin(
  deps: InteractionDeps,
  ctx: WebContext,
  interaction: Interaction,
  status: number,
  retry?: { email: string; error: string; headers?: Record<string, string> },
): Promise<void> {
  const client = await findClient(deps, interaction);
  const hint = interaction.params.login_hint;
  const view: LoginPage = {
    action: interactionPath(interaction),
    clientName: client.clientName ?? client.clientId,
    email: retry?.email ?? (typeof hint === 'string' ? hint.slice(0, 320) : ''),
    error: retry?.error ?? null,
    upstreamName: deps.upstreamName,
    hasPasswords: deps.localPasswords === 'on',
    canReset: deps.canResetPassword,
    canCancel: !ownClientIds.includes(client.clientId),
    formTargets: formTargets(interaction),
  };
  showPage(ctx, loginPage(view), status, retry?.headers);
}

async function logIn(deps: InteractionDeps, ctx: WebContext, interaction: Interaction): Promise<void> {
  if (interaction.prompt.name !== 'login') return redirect(ctx, interactionPath(interaction));
  if (deps.localPasswords === 'off') throw fail('no_password');
  const { db } = deps;
  const form = await readForm(ctx);
  const email = (form.get('email') ?? '').trim();
  const origin = { address: getClientAddress(ctx), browser: currentBrowser() };
  const limits = await signInLimits(db, email, origin);
  const seconds = await recordAttempt(db, [limits.own, ...limits.shared]);
  if (seconds !== null) {
    const error = `Too many attempts. Wait ${seconds} seconds, then try again.`;
    const headers = { 'retry-after': String(seconds) };
    return showLogin(deps, ctx, interaction, 429, { email, error, headers });
  }
  const user = await checkPassword(db, { email, password: form.get('password') ?? '' });
  if (!user) {
    const known = await findUser(deps, { ref: email });
    if (known)
      await recordSignInEvent(deps, {
        ...signInDetails(ctx),
        action: 'account.sign_in_failed',
        user: known,
        method: 'password',
      });
    const error = 'The e-mail address or the password is wrong, or the account is suspended.';
    return showLogin(deps, ctx, interaction, 401, { email, error });
  }
  await recordSuccess(db, limits, { userId: user.id, origin });
  await finishLogin(deps, ctx, interaction, { user, method: 'password' });
}

export function signInDetails(ctx: WebContext) {
  return { address: getClientAddress(ctx), device: getDevice(ctx), requestId: getRequestId(ctx) };
}

async function consent(deps: InteractionDeps, ctx: WebContext, interaction: Interaction): Promise<void> {
  const { provider } = deps;
  const accountId = interaction.session?.accountId;
  if (interaction.prompt.name !== 'consent' || !accountId) return redirect(ctx, interactionPath(interaction));
  const client = await findClient(deps, interaction);
  const existing = interaction.grantId ? await provider.Grant.find(interaction.grantId) : undefined;
  const grant = existing ?? new provider.Grant({ accountId, clientId: client.clientId });
  grant.addOIDCScope(parseScope(interaction.params.scope));
  const grantId = await grant.save();
  redirect(ctx, await provider.interactionResult(ctx.req, ctx.res, { consent: { grantId } }));
}

async function abort(deps: InteractionDeps, ctx: WebContext): Promise<void> {
  const result = { error: 'access_denied', error_description: 'the sign-in was cancelled' };
  redirect(ctx, await deps.provider.interactionResult(ctx.req, ctx.res, result));
}

export function interactionPath(interaction: { uid: string }): string {
  return `/oauth/interaction/${interaction.uid}`;
}

async function findClient(deps: InteractionDeps, interaction: Interaction): Promise<Client> {
  const client = await deps.provider.Client.find(String(interaction.params.client_id));
  if (!client) throw fail('not_found', { detail: 'The app that requested the sign-in no longer exists.' });
  return client;
}

/** The app's origin must be in `form-action`, because the form's response redirects there. */
function formTargets(interaction: Interaction): string[] {
  const uri = interaction.params.redirect_uri;
  return typeof uri === 'string' ? formTarget(uri) : [];
}

function parseScope(scope: unknown): string[] {
  return typeof scope === 'string' ? scope.split(' ') : [];
}

export async function finishLogin(
  { provider, ...deps }: SignInDeps & { provider: Provider },
  ctx: WebContext,
  interaction: Interaction,
  { user, method }: { user: Pick<UserRecord, 'id' | 'email'>; method: SignInMethod },
): Promise<void> {
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

/** RFC 8176. */
const amrValues: Record<SignInMethod, string[]> = { password: ['pwd'], upstream: ['fed'], local: ['user'] };

/** No confirmation: the request comes from our own page. */
export function createLogout(deps: { provider: Provider; baseUrl: string }): Middleware {
  return async (ctx, next) => {
    if (ctx.path !== '/logout') return next();
    if (ctx.method !== 'POST') throw fail('method_not_allowed', { headers: { allow: 'POST' } });
    requireSameSite(ctx, deps.baseUrl);
    const session = await deps.provider.Session.get(ctx);
    await session.destroy();
    ctx.cookies.set(sessionCookieName(deps.baseUrl), null, { ...cookieOptions(deps.baseUrl), path: '/' });
    redirect(ctx, '/');
  };
}
