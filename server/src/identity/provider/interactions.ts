import type { Client, Interaction, Provider } from 'oidc-provider';
import { fail } from '../../core/problem.ts';
import { findUser } from '../../people/users/users.ts';
import { recordAttempt, refundAttempt, signInLimits } from '../account/attempts.ts';
import { checkPassword } from '../account/password.ts';
import { recordSignInEvent, type SignInDeps } from '../account/sign-ins.ts';
import { sessionCookieName } from '../credentials/find-credential.ts';
import { authenticationOptions, canUsePasskeys } from '../factors/passkeys.ts';
import { isLoopback, ownClientIds, parseAppClientId } from '../sessions/clients.ts';
import { finishLogin, interactionPath, signInDetails, signInOrigin } from './finish-login.ts';
import { formTarget } from './pages/layout.ts';
import { appConsentPage, consentPage, type LoginPage, loginPage } from './pages/pages.ts';
import {
  addFactor,
  continueAfterSetup,
  restartSignIn,
  showSecondFactor,
  signInWithPasskey,
  startSecondFactor,
  verifyFactor,
} from './second-factor.ts';
import {
  cookieOptions,
  type Middleware,
  readForm,
  redirect,
  requireSameSite,
  showPage,
  type WebContext,
} from './web-context.ts';

export interface InteractionDeps extends SignInDeps {
  provider: Provider;
  baseUrl: string;
  upstreamName: string | null;
  localPasswords: 'on' | 'off';
  canResetPassword: boolean;
}

const pathPattern =
  /^\/interaction\/([\w-]{1,100})(?:\/(login|confirm|abort|passkey|factor|totp|add-passkey|continue|restart))?$/;

export function createInteractions(deps: InteractionDeps): Middleware {
  return async (ctx, next) => {
    const [matched, uid, step] = pathPattern.exec(ctx.path) ?? [];
    if (!matched) return next();
    if (ctx.method !== (step ? 'POST' : 'GET')) throw fail('method_not_allowed');
    if (step) requireSameSite(ctx, deps.baseUrl);
    const interaction = await deps.provider.interactionDetails(ctx.req, ctx.res);
    if (interaction.uid !== uid) throw fail('not_found');
    const isSignIn = step !== undefined && step !== 'confirm' && step !== 'abort';
    if (isSignIn && interaction.prompt.name !== 'login') return redirect(ctx, interactionPath(interaction));
    if (isSignIn && deps.localPasswords === 'off') throw fail('no_password');
    switch (step) {
      case undefined:
        return show(deps, ctx, interaction);
      case 'login':
        return logIn(deps, ctx, interaction);
      case 'confirm':
        return consent(deps, ctx, interaction);
      case 'abort':
        return abort(deps, ctx);
      case 'passkey':
        return usePasskey(deps, ctx, interaction);
      case 'factor':
        return verifyFactor(deps, ctx, interaction);
      case 'totp':
        return addFactor(deps, ctx, interaction, 'totp');
      case 'add-passkey':
        return addFactor(deps, ctx, interaction, 'passkey');
      case 'continue':
        return continueAfterSetup(deps, ctx, interaction);
      case 'restart':
        return restartSignIn(deps, ctx, interaction);
    }
  };
}

async function show(deps: InteractionDeps, ctx: WebContext, interaction: Interaction): Promise<void> {
  if (interaction.prompt.name === 'login') {
    if (await showSecondFactor(deps, ctx, interaction)) return;
    return showLogin(deps, ctx, interaction, 200);
  }
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
  const hasPasswords = deps.localPasswords === 'on';
  const view: LoginPage = {
    action: interactionPath(interaction),
    clientName: client.clientName ?? client.clientId,
    email: retry?.email ?? (typeof hint === 'string' ? hint.slice(0, 320) : ''),
    error: retry?.error ?? null,
    upstreamName: deps.upstreamName,
    hasPasswords,
    passkey:
      hasPasswords && canUsePasskeys(deps.baseUrl)
        ? await authenticationOptions(deps, { userId: null })
        : null,
    canReset: deps.canResetPassword,
    canCancel: !ownClientIds.includes(client.clientId),
    formTargets: formTargets(interaction),
  };
  showPage(ctx, loginPage(view), status, retry?.headers);
}

async function logIn(deps: InteractionDeps, ctx: WebContext, interaction: Interaction): Promise<void> {
  const { db } = deps;
  const form = await readForm(ctx);
  const email = (form.get('email') ?? '').trim();
  const limits = await signInLimits(db, email, signInOrigin(ctx));
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
  // Not yet a known origin: that is for a complete sign-in.
  await refundAttempt(db, [limits.own, ...limits.shared]);
  if (await startSecondFactor(deps, interaction, user)) return redirect(ctx, interactionPath(interaction));
  await finishLogin(deps, ctx, interaction, { user, method: 'password' });
}

async function usePasskey(deps: InteractionDeps, ctx: WebContext, interaction: Interaction): Promise<void> {
  if ((await signInWithPasskey(deps, ctx, interaction)) === 'done') return;
  const error = 'The passkey is unknown or has expired. Try again, or choose another way.';
  if (await showSecondFactor(deps, ctx, interaction, { status: 401, error })) return;
  return showLogin(deps, ctx, interaction, 401, { email: '', error });
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
