import { siteAuthPath } from '@svc/contract/identity.ts';
import { html } from '../identity/pages/html.ts';
import { pageResponse } from '../identity/pages/layout.ts';
import { messagePage } from '../identity/pages/message.ts';
import type { Caller } from '../plumbing/context.ts';
import type { Db } from '../plumbing/db.ts';
import { fail } from '../plumbing/problem.ts';
import { createRateLimit } from '../plumbing/rate-limit.ts';
import { seeOther } from '../plumbing/see-other.ts';
import type { Handle } from '../plumbing/serve.ts';
import { secretPattern } from './cookies.ts';
import { type AppAtDomain, findSiteFor } from './find-site-for.ts';
import { makeCode } from './make-code.ts';
import { parseSiteTarget, type VisitPlaces } from './site-target.ts';

export interface SiteAuthParts extends VisitPlaces {
  db: Db;
  now: () => Date;
  authenticate: (request: Request) => Promise<Caller | null>;
  appAtDomain: AppAtDomain;
}

const perMinuteMax = 60;

/**
 * `/site-auth?target=…&state=…`: the platform's part of the way to a site. Whoever is not signed in is sent to the
 * sign-in first, whatever they want to see; who is, goes on with a code or is told that there is nothing.
 */
export function createSiteAuth(parts: SiteAuthParts): Handle {
  const { baseUrl } = parts;
  const rateLimit = createRateLimit(parts.now);

  return async (request, url, info) => {
    if (request.method !== 'GET') throw fail('method_not_allowed', { headers: { allow: 'GET' } });
    const state = url.searchParams.get('state') ?? '';
    const target = parseSiteTarget(url.searchParams.get('target') ?? '', parts);
    if (target === null || !secretPattern.test(state)) return nothingHere(info.requestId);
    const via = url.searchParams.get('via');
    const again = (step: 'login' | 'page') =>
      `${siteAuthPath}?${new URLSearchParams({ target: url.searchParams.get('target') ?? '', state, via: step })}`;
    if (via === 'login') return goOn(again('page'));

    const caller = await parts.authenticate(request);
    if (caller?.kind !== 'session') {
      if (via === 'page') return notSignedIn(info.requestId, again('login'));
      return seeOther(`${baseUrl}${signIn(again('login'))}`);
    }
    rateLimit(caller.userId, perMinuteMax);
    const appId = target === 'elsewhere' ? null : await findSiteFor(parts, { target, userId: caller.userId });
    if (target === 'elsewhere' || appId === null) return nothingHere(info.requestId);
    const made = await makeCode({ db: parts.db, now: parts.now() }, { appId, target, caller, state });
    return seeOther(made.redirectUrl);
  };
}

const signIn = (returnTo: string) => `/login?return_to=${encodeURIComponent(returnTo)}`;

/**
 * Browsers hold a form to where it may lead, redirects included, and the form of the sign-in may not lead to sites. A
 * page in between ends that chain.
 */
function goOn(href: string): Response {
  return pageResponse(
    {
      title: 'On to the site',
      main: html`<h1>On to the site</h1>
<p class="lead">Press the button if it does not come by itself.</p>
<a class="button" href="${href}">Continue</a>`,
    },
    { status: 200, headers: { refresh: `0;url=${href}` } },
  );
}

function nothingHere(requestId: string): Response {
  const text = 'There is no site at this address, or none that you may see.';
  return pageResponse(messagePage({ title: 'Nothing here', text, requestId }), { status: 404 });
}

function notSignedIn(requestId: string, again: string): Response {
  const text = 'This browser did not keep the sign-in. Cookies of this address have to be allowed.';
  const link = { href: signIn(again), label: 'Sign in' };
  return pageResponse(messagePage({ title: 'You are not signed in', text, requestId, link }), {
    status: 403,
  });
}
