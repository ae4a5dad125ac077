import { randomBytes } from 'node:crypto';
import { consolePaths } from '@svc/contract/console-paths.ts';
import { siteAuthPath } from '@svc/contract/identity.ts';
import type { startSiteAuth as shape } from '@svc/contract/static-sites.shapes.ts';
import type { z } from 'zod';
import { findAppById } from '../../apps/record/find-app.ts';
import type { Caller, MutationCtx } from '../../core/context.ts';
import type { Db } from '../../core/db.ts';
import { html } from '../../core/html.ts';
import { fail, validationError } from '../../core/problem.ts';
import { sha256 } from '../../core/values.ts';
import type { RequestHandler } from '../../http/handlers.ts';
import { seeOther } from '../../http/headers.ts';
import { createRateLimit } from '../../http/rate-limit.ts';
import { type Page, pageResponse } from '../../identity/provider/pages/layout.ts';
import { messagePage } from '../../identity/provider/pages/pages.ts';
import { findUser } from '../../people/users/users.ts';
import { secretPattern } from './site-responses.ts';
import {
  type FindAppAtDomain,
  findRequestableSite,
  findSiteFor,
  parseSiteTarget,
  type SiteOriginConfig,
  type SiteTarget,
  sitePaths,
} from './site-target.ts';
import { type CodeRow, findCodeRow, insertCodeRow } from './store.ts';

interface SiteAuthDeps extends SiteOriginConfig {
  db: Db;
  now: () => Date;
  authenticate: (request: Request) => Promise<Caller | null>;
  findAppAtDomain: FindAppAtDomain;
}

const perMinuteMax = 60;

/** `/site-auth?target=…&state=…`: a forbidden target and one that does not exist get the same page. */
export function createSiteAuth(deps: SiteAuthDeps): RequestHandler {
  const { baseUrl } = deps;
  const rateLimit = createRateLimit(deps.now);

  return async (request, url, info) => {
    if (request.method !== 'GET') throw fail('method_not_allowed', { headers: { allow: 'GET' } });
    const state = url.searchParams.get('state') ?? '';
    const target = parseSiteTarget(url.searchParams.get('target') ?? '', deps);
    if (target === null || !secretPattern.test(state)) return nothingHere(info.requestId);
    const via = url.searchParams.get('via');
    const again = (step: 'login' | 'page') =>
      `${siteAuthPath}?${new URLSearchParams({ target: url.searchParams.get('target') ?? '', state, via: step })}`;
    if (via === 'login') return continuePage(again('page'));

    const caller = await deps.authenticate(request);
    if (caller?.kind !== 'session') {
      if (via === 'page') return notSignedIn(info.requestId, again('login'));
      return seeOther(`${baseUrl}${signIn(again('login'))}`);
    }
    rateLimit(caller.userId, perMinuteMax);
    if (target === 'elsewhere') return nothingHere(info.requestId);
    const visitor = { target, userId: caller.userId };
    const appId = await findSiteFor(deps, visitor);
    if (appId === null) {
      const app = await findRequestableSite(deps, visitor);
      return app === null ? nothingHere(info.requestId) : invitedOnly(info.requestId, target.host, app);
    }
    const made = await createCode({ db: deps.db, now: deps.now() }, { appId, target, caller, state });
    return seeOther(made.redirectUrl);
  };
}

const signIn = (returnTo: string) => `/login?return_to=${encodeURIComponent(returnTo)}`;

/** Ends the redirect chain: the `form-action` policy of the sign-in page covers redirects and allows no sites. */
function continuePage(href: string): Response {
  return pageResponse(
    {
      title: 'Continue to the site',
      main: html`<h1>Continue to the site</h1>
<p class="lead">Press the button if the site does not open automatically.</p>
<a class="button" href="${href}">Continue</a>`,
    },
    { status: 200, headers: { refresh: `0;url=${href}` } },
  );
}

function nothingHere(requestId: string): Response {
  const text = 'There is no site at this address, or you may not see it.';
  return pageResponse(messagePage({ title: 'Nothing here', text, requestId }), { status: 404 });
}

function invitedOnly(
  requestId: string,
  host: string,
  { tenantSlug, appSlug }: { tenantSlug: string; appSlug: string },
): Response {
  const text = `Only invited people may open ${host}. You can ask the owners for access.`;
  const link = { href: consolePaths.requestAppAccess(tenantSlug, appSlug), label: 'Request access' };
  return pageResponse(messagePage({ title: 'By invitation only', text, requestId, link }), { status: 403 });
}

function notSignedIn(requestId: string, again: string): Response {
  const text = 'This browser did not store the sign-in. Allow cookies for this address.';
  const link = { href: signIn(again), label: 'Sign in' };
  return pageResponse(messagePage({ title: 'You are not signed in', text, requestId, link }), {
    status: 403,
  });
}

/** For a program that opens a browser: returns a URL that signs the caller in at a site, once, within a minute. */
export async function startSiteAuth(
  ctx: MutationCtx,
  deps: SiteOriginConfig & { findAppAtDomain: FindAppAtDomain },
  input: z.output<typeof shape.body>,
): Promise<z.output<typeof shape.answer>> {
  const target = parseSiteTarget(input.target, deps);
  if (target === null)
    throw validationError('target', 'must be the URL of a page of a site, without user name and password');
  const appId =
    target === 'elsewhere'
      ? null
      : await findSiteFor({ ...deps, db: ctx.db }, { target, userId: ctx.caller.userId });
  const app = appId === null ? null : await findAppById(ctx, { id: appId });
  const isRequestedApp =
    input.app === undefined || input.app === app?.slug || input.app.toLowerCase() === app?.id;
  if (target === 'elsewhere' || !app || !isRequestedApp) throw fail('not_found');
  const { redirectUrl, expiresAt } = await createCode(ctx, {
    appId: app.id,
    target,
    caller: ctx.caller,
    state: null,
  });
  ctx.audit({
    action: 'sites.startAuth',
    appId: app.id,
    target: { kind: 'site', id: app.id, name: target.host },
    before: null,
    after: { origin: target.origin, user_id: ctx.caller.userId, good_for_seconds: codeSecondsMax },
  });
  return {
    redirect_url: redirectUrl,
    target: `${target.origin}${target.path}`,
    expires_at: expiresAt.toISOString(),
  };
}

const codeSecondsMax = 60;

/** `state` binds the code to the browser that has it in a cookie. */
async function createCode(
  { db, now }: { db: Db; now: Date },
  input: { appId: string; target: SiteTarget; caller: Caller; state: string | null },
): Promise<{ redirectUrl: string; expiresAt: Date }> {
  const { target, caller, state } = input;
  const code = randomBytes(32).toString('base64url');
  const expiresAt = new Date(now.getTime() + codeSecondsMax * 1000);
  await insertCodeRow(db, {
    code_hash: sha256(code),
    app_id: input.appId,
    origin: target.origin,
    user_id: caller.userId,
    credential_id: caller.credentialId,
    state_hash: state === null ? null : sha256(state),
    created_at: now,
    expires_at: expiresAt,
  });
  const query = new URLSearchParams({ code, ...(state !== null && { state }), to: target.path });
  return { redirectUrl: `${target.origin}${sitePaths.auth}?${query}`, expiresAt };
}

/** The person that a code without state signs in; null for other codes. Does not consume the code. */
export async function findCodeOwner(
  { db, now }: { db: Db; now: Date },
  { code, origin }: { code: string; origin: string },
): Promise<{ name: string; email: string } | null> {
  const row = await findCodeRow(db, sha256(code));
  if (!row || row.state_hash !== null || !isCodeValid(row, { origin, now })) return null;
  return findUser({ db }, { ref: row.user_id });
}

export function isCodeValid(code: CodeRow, { origin, now }: { origin: string; now: Date }): boolean {
  return code.expires_at > now && code.origin === origin;
}

/** Shows the e-mail address, because a name can be chosen to mislead. */
export function confirmPage(view: {
  host: string;
  owner: { name: string; email: string };
  action: string;
}): Page {
  const title = `Continue to ${view.host} as ${view.owner.name}?`;
  return {
    title,
    main: html`<h1>${title}</h1>
<p class="lead">Another page sent you here to sign in as ${view.owner.email}. Continue only if you want that.</p>
<form method="post" action="${view.action}">
<button class="button" type="submit">Continue</button>
</form>
<a class="button quiet" href="/">Cancel</a>`,
  };
}
