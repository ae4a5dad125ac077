import type { Provider } from 'oidc-provider';
import type { Logger } from 'pino';
import { platformTenantId } from '../plumbing/context.ts';
import type { Db } from '../plumbing/db.ts';
import { asOperator } from '../plumbing/operator.ts';
import { rowsOnly } from '../plumbing/outbox-rows.ts';
import { Failure } from '../plumbing/problem.ts';
import { findUser } from '../users/find-user.ts';
import { finishLogin } from './finish-login.ts';
import { actionOf } from './interactions.ts';
import { messagePage } from './pages/message.ts';
import {
  createUpstreamClient,
  isUpstreamAway,
  type UpstreamChecks,
  type UpstreamIdentity,
  type UpstreamSettings,
} from './upstream-client.ts';
import { createUpstreamUser, findUpstreamUser } from './upstream-users.ts';
import { type Middleware, redirect, requestIdOf, showPage, type WebContext } from './web-context.ts';

export interface UpstreamParts {
  db: Db;
  provider: Provider;
  baseUrl: string;
  log: Logger;
  settings: UpstreamSettings;
}

const callbackPath = '/oauth/upstream/callback';
const beginPattern = /^\/interaction\/([\w-]{1,100})\/upstream$/;
const signInMinutesMax = 10;

/** Signs people in at an outside OpenID provider, on behalf of an interaction of ours. */
export function createUpstream(parts: UpstreamParts): Middleware {
  const client = createUpstreamClient(parts.settings);
  return async (ctx, next) => {
    if (ctx.method !== 'GET') return next();
    if (beginPattern.test(ctx.path)) return begin(ctx);
    if (ctx.path === '/upstream/callback') return finish(ctx);
    return next();
  };

  async function begin(ctx: WebContext): Promise<void> {
    const interaction = await parts.provider.interactionDetails(ctx.req, ctx.res);
    try {
      const { location, checks } = await client.begin(`${parts.baseUrl}${callbackPath}`);
      remember(ctx, { ...checks, uid: interaction.uid });
      redirect(ctx, location);
    } catch (error) {
      showAway(ctx, error, actionOf(interaction));
    }
  }

  async function finish(ctx: WebContext): Promise<void> {
    const callback = new URL(`${callbackPath}${ctx.search}`, parts.baseUrl);
    const journey = recall(ctx, callback.searchParams.get('state') ?? '');
    const interaction = journey && (await parts.provider.Interaction.find(journey.uid));
    if (!interaction) {
      const text = 'The sign-in took too long, or was begun in another browser. Please start again.';
      return tell(ctx, 400, 'This sign-in has expired', text, '/');
    }
    const back = actionOf(interaction);
    if (callback.searchParams.get('error') === 'access_denied') {
      return tell(
        ctx,
        403,
        'The sign-in was cancelled',
        `You were not signed in by ${parts.settings.name}.`,
        back,
      );
    }
    let identity: UpstreamIdentity;
    try {
      identity = await client.finish(callback, journey);
    } catch (error) {
      if (isUpstreamAway(error)) return showAway(ctx, error, back);
      parts.log.warn({ err: error, request_id: requestIdOf(ctx) }, 'the outside sign-in failed');
      const text = `What ${parts.settings.name} answered was not valid. Please start again.`;
      return tell(ctx, 400, 'The sign-in did not work', text, back);
    }
    const userId = (await findUpstreamUser(parts.db, identity)) ?? (await create(ctx, identity, back));
    const user = userId === null ? null : await findUser(parts, { ref: userId });
    if (user?.status === 'active') {
      await finishLogin(parts.provider, ctx, interaction, { userId: user.id, how: 'fed' });
    } else if (user) {
      tell(ctx, 403, 'This account is suspended', 'Ask your administrator.', back);
    }
  }

  /** The new user's id; or null, when the page says why there is none. */
  async function create(ctx: WebContext, identity: UpstreamIdentity, back: string): Promise<string | null> {
    const { name } = parts.settings;
    const { email } = identity;
    const noEmail = `${name} did not give us a confirmed e-mail address of yours.`;
    if (email === null || identity.emailVerified === false) {
      tell(ctx, 403, 'No e-mail address', noEmail, back);
      return null;
    }
    const change = {
      name: 'user.sign_in_upstream',
      auditTenantId: platformTenantId,
      requestId: requestIdOf(ctx),
    };
    try {
      return await asOperator({ ...parts, outbox: rowsOnly }, change, (operator) =>
        createUpstreamUser(operator, { ...identity, email }),
      );
    } catch (error) {
      const code = error instanceof Failure ? error.code : null;
      if (code === 'validation_failed') tell(ctx, 403, 'No e-mail address', noEmail, back);
      else if (code !== 'unique_violation') throw error;
      // Two tabs may have come back at once: then the other one has made the user.
      const made = await findUpstreamUser(parts.db, identity);
      if (made === null && code === 'unique_violation')
        tell(ctx, 409, 'This address is taken', taken(name), back);
      return made;
    }
  }

  function showAway(ctx: WebContext, error: unknown, back: string): void {
    parts.log.warn({ err: error, request_id: requestIdOf(ctx) }, 'the outside provider can not be reached');
    ctx.set('retry-after', '5');
    const text = 'Please try again in a moment, or sign in another way.';
    tell(ctx, 503, `${parts.settings.name} can not be reached`, text, back);
  }

  function tell(ctx: WebContext, status: number, title: string, text: string, href: string): void {
    const view = { title, text, requestId: requestIdOf(ctx), link: { href, label: 'Back to sign-in' } };
    showPage(ctx, messagePage(view), status);
  }

  /** In a signed cookie of this browser, one per journey, so that two tabs do not meet. */
  function remember(ctx: WebContext, journey: Journey): void {
    const value = Buffer.from(JSON.stringify(journey)).toString('base64url');
    ctx.cookies.set(cookieName(journey.state), value, { ...cookie(), maxAge: signInMinutesMax * 60_000 });
  }

  function recall(ctx: WebContext, state: string): Journey | null {
    if (!/^[\w-]{16,200}$/.test(state)) return null;
    const value = ctx.cookies.get(cookieName(state), { signed: true });
    if (!value) return null;
    ctx.cookies.set(cookieName(state), null, cookie());
    const journey = JSON.parse(Buffer.from(value, 'base64url').toString()) as Journey;
    return journey.state === state ? journey : null;
  }

  function cookie() {
    const secure = parts.baseUrl.startsWith('https:');
    return {
      path: callbackPath,
      httpOnly: true,
      sameSite: 'lax',
      signed: true,
      overwrite: true,
      secure,
    } as const;
  }
}

function taken(name: string): string {
  return `An account with your e-mail address exists here, but it is not linked to ${name}. Ask your administrator.`;
}

type Journey = UpstreamChecks & { uid: string };

function cookieName(state: string): string {
  return `svc_upstream_${state.slice(0, 12)}`;
}
