import type { Client, Interaction, Provider } from 'oidc-provider';
import type { Db } from '../plumbing/db.ts';
import { fail } from '../plumbing/problem.ts';
import { findUser } from '../users/find-user.ts';
import { appIdOf } from './app-clients.ts';
import { isLoopback } from './app-redirects.ts';
import { checkPassword } from './check-password.ts';
import { finishLogin } from './finish-login.ts';
import {
  accountLimit,
  addressLimit,
  forgetAttempts,
  giveBackAttempt,
  takeAttempt,
} from './login-attempts.ts';
import { appConsentPage } from './pages/app-consent.ts';
import { consentPage } from './pages/consent.ts';
import { formTarget } from './pages/layout.ts';
import { type LoginPage, loginPage } from './pages/login.ts';
import { ownClientIds } from './provider-clients.ts';
import {
  clientAddressOf,
  type Middleware,
  readForm,
  redirect,
  refuseOtherSites,
  showPage,
  type WebContext,
} from './web-context.ts';

export interface InteractionParts {
  db: Db;
  provider: Provider;
  baseUrl: string;
  /** The outside provider, by its name. */
  upstreamName: string | null;
}

const pathPattern = /^\/interaction\/([\w-]{1,100})(?:\/(login|confirm|abort))?$/;

/** Where the provider asks a person: to sign in, or to let an app act for them. */
export function createInteractions(parts: InteractionParts): Middleware {
  return async (ctx, next) => {
    const [matched, uid, step] = pathPattern.exec(ctx.path) ?? [];
    if (!matched) return next();
    if (ctx.method !== (step ? 'POST' : 'GET')) throw fail('method_not_allowed');
    if (step) refuseOtherSites(ctx, parts.baseUrl);
    const interaction = await parts.provider.interactionDetails(ctx.req, ctx.res);
    if (interaction.uid !== uid) throw fail('not_found');
    switch (step) {
      case undefined:
        return show(parts, ctx, interaction);
      case 'login':
        return logIn(parts, ctx, interaction);
      case 'confirm':
        return consent(parts, ctx, interaction);
      case 'abort':
        return abort(parts, ctx);
    }
  };
}

async function show(parts: InteractionParts, ctx: WebContext, interaction: Interaction): Promise<void> {
  if (interaction.prompt.name === 'login') return showLogin(parts, ctx, interaction, 200);
  const client = await clientOf(parts, interaction);
  const user = await findUser(parts, { ref: interaction.session?.accountId ?? '' });
  const name = client.clientName ?? client.clientId;
  const shared = {
    action: actionOf(interaction),
    signedInAs: user?.email ?? '',
    formTargets: targetsOf(interaction),
  };
  if (appIdOf(client.clientId) === null) {
    const scopes = namesIn(interaction.params.scope);
    return showPage(ctx, consentPage({ ...shared, clientName: name, scopes }), 200);
  }
  const back = String(interaction.params.redirect_uri);
  const leadsTo = URL.parse(back)?.host ?? '';
  showPage(ctx, appConsentPage({ ...shared, appName: name, leadsTo, isLoopback: isLoopback(back) }), 200);
}

async function showLogin(
  parts: InteractionParts,
  ctx: WebContext,
  interaction: Interaction,
  status: number,
  retry?: { email: string; error: string; headers?: Record<string, string> },
): Promise<void> {
  const client = await clientOf(parts, interaction);
  const hint = interaction.params.login_hint;
  const view: LoginPage = {
    action: actionOf(interaction),
    clientName: client.clientName ?? client.clientId,
    email: retry?.email ?? (typeof hint === 'string' ? hint.slice(0, 320) : ''),
    error: retry?.error ?? null,
    upstreamName: parts.upstreamName,
    canCancel: !ownClientIds.includes(client.clientId),
    formTargets: targetsOf(interaction),
  };
  showPage(ctx, loginPage(view), status, retry?.headers);
}

async function logIn(parts: InteractionParts, ctx: WebContext, interaction: Interaction): Promise<void> {
  if (interaction.prompt.name !== 'login') return redirect(ctx, actionOf(interaction));
  const form = await readForm(ctx);
  const email = (form.get('email') ?? '').trim();
  const account = accountLimit(email);
  const address = addressLimit(clientAddressOf(ctx));
  const seconds = await takeAttempt(parts.db, [account, address]);
  if (seconds !== null) {
    const error = `Too many tries. Wait ${seconds} seconds, then try again.`;
    const headers = { 'retry-after': String(seconds) };
    return showLogin(parts, ctx, interaction, 429, { email, error, headers });
  }
  const user = await checkPassword(parts.db, { email, password: form.get('password') ?? '' });
  if (!user) {
    const error = 'No account that may sign in has this e-mail address and password.';
    return showLogin(parts, ctx, interaction, 401, { email, error });
  }
  await forgetAttempts(parts.db, account);
  await giveBackAttempt(parts.db, [address]);
  await finishLogin(parts.provider, ctx, interaction, { userId: user.id, how: 'pwd' });
}

async function consent(parts: InteractionParts, ctx: WebContext, interaction: Interaction): Promise<void> {
  const { provider } = parts;
  const accountId = interaction.session?.accountId;
  if (interaction.prompt.name !== 'consent' || !accountId) return redirect(ctx, actionOf(interaction));
  const client = await clientOf(parts, interaction);
  const known = interaction.grantId ? await provider.Grant.find(interaction.grantId) : undefined;
  const grant = known ?? new provider.Grant({ accountId, clientId: client.clientId });
  grant.addOIDCScope(namesIn(interaction.params.scope));
  const grantId = await grant.save();
  redirect(ctx, await provider.interactionResult(ctx.req, ctx.res, { consent: { grantId } }));
}

async function abort(parts: InteractionParts, ctx: WebContext): Promise<void> {
  const result = { error: 'access_denied', error_description: 'the sign-in was cancelled' };
  redirect(ctx, await parts.provider.interactionResult(ctx.req, ctx.res, result));
}

export function actionOf(interaction: { uid: string }): string {
  return `/oauth/interaction/${interaction.uid}`;
}

async function clientOf(parts: InteractionParts, interaction: Interaction): Promise<Client> {
  const client = await parts.provider.Client.find(String(interaction.params.client_id));
  if (!client)
    throw fail('not_found', { detail: 'The app that asked for the sign-in does not exist any more.' });
  return client;
}

/** After a form is sent, the browser is led on to the app; it has to be told beforehand that this may happen. */
function targetsOf(interaction: Interaction): string[] {
  const uri = interaction.params.redirect_uri;
  return typeof uri === 'string' ? formTarget(uri) : [];
}

function namesIn(scope: unknown): string[] {
  return typeof scope === 'string' ? scope.split(' ') : [];
}
