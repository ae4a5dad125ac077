import { gitOwnerPattern, gitRepoNamePattern } from '@svc/contract/git-names.ts';
import type { Caller } from '../../core/context.ts';
import { html } from '../../core/html.ts';
import { Failure, fail } from '../../core/problem.ts';
import type { RequestHandler, RequestInfo } from '../../http/handlers.ts';
import { seeOther } from '../../http/headers.ts';
import { readBody } from '../../http/read-body.ts';
import { recordAttempt, refundAttempt } from '../../identity/account/attempts.ts';
import { cross, type Page, pageResponse, tick } from '../../identity/provider/pages/layout.ts';
import { deviceCodePage, messagePage } from '../../identity/provider/pages/pages.ts';
import type { GitHostDeps } from './deps.ts';
import { parseUserCode } from './device-flow.ts';
import { devicePath } from './paths.ts';
import { type RepositoryAccess, resolveRepository } from './repositories.ts';
import { type DeviceCodeRow, decideDeviceCode, findByUserCode } from './tokens.ts';

const bodyBytesMax = 4 * 1024;
const wrongCodesMax = 10;
const wrongCodesSeconds = 600;

const messages = {
  unknown: 'This code does not exist. Check it and try again.',
  expired: 'This code has expired. Start again on your device to get a new one.',
  used: 'This code has been used. Start again on your device to get a new one.',
} as const;

export function createDevicePage(deps: GitHostDeps): RequestHandler {
  return async (request, url, info) => {
    info.setRoute('git.login');
    if (request.method !== 'GET' && request.method !== 'HEAD' && request.method !== 'POST')
      throw fail('method_not_allowed', { headers: { allow: 'GET, HEAD, POST' } });
    try {
      const caller = await deps.authenticate(request);
      if (caller?.kind !== 'session') return redirectToLogin(url);
      if (request.method !== 'POST') return respond(codePage(userCodeFromUrl(url), null));
      return await handleForm(deps, request, caller, info.requestId);
    } catch (error) {
      if (!(error instanceof Failure) || error.code !== 'cross_site_request') throw error;
      const text = 'This request came from another site. Enter the code here yourself.';
      return respond(messagePage({ title: 'That did not work', text, requestId: info.requestId }), 403);
    }
  };
}

async function handleForm(deps: GitHostDeps, request: Request, caller: Caller, requestId: string) {
  const { db, now } = deps;
  const form = new URLSearchParams(
    new TextDecoder().decode(await readBody(request, { bytesMax: bodyBytesMax })),
  );
  const typed = form.get('user_code') ?? '';
  // Counted before the lookup, so that parallel attempts cannot exceed the limit; a correct code is not counted.
  const limits = [
    { key: `git-device:user:${caller.userId}`, max: wrongCodesMax, firstSeconds: wrongCodesSeconds },
  ];
  const seconds = await recordAttempt(db, limits);
  if (seconds !== null) return tooManyAttempts(seconds, requestId);
  const userCode = parseUserCode(typed);
  const code = userCode === null ? undefined : await findByUserCode(db, userCode);
  if (!code || userCode === null) return respond(codePage(typed, messages.unknown), 400);
  await refundAttempt(db, limits);
  if (code.expires_at <= now()) return respond(codePage('', messages.expired), 400);
  if (code.approved_by !== null || code.denied_at !== null) return respond(codePage('', messages.used), 400);
  const isDenied = form.has('abort');
  if (!isDenied && form.get('confirm') !== 'yes')
    return respond(confirmPage({ action: devicePath, userCode, signedInAs: caller.email, request: code }));
  const at = now();
  const outcome = isDenied ? { denied_at: at } : { approved_by: caller.userId };
  if (!(await decideDeviceCode(db, userCode, { now: at, ...outcome })))
    return respond(codePage('', messages.used), 400);
  return respond(isDenied ? deniedPage() : linkedPage());
}

function userCodeFromUrl(url: URL): string {
  return url.searchParams.get('user_code')?.slice(0, 16) ?? '';
}

function redirectToLogin(url: URL): Response {
  const back = `${devicePath}${url.search}`;
  return seeOther(`/login?return_to=${encodeURIComponent(back)}`);
}

function codePage(userCode: string, error: string | null): Page {
  return deviceCodePage({ action: devicePath, xsrf: '', userCode: userCode.slice(0, 16), error });
}

function respond(page: Page, status = 200): Response {
  return pageResponse(page, { status });
}

function tooManyAttempts(seconds: number, requestId: string): Response {
  const text = `Too many codes were tried. Wait ${seconds} seconds, then try again.`;
  return pageResponse(messagePage({ title: 'Too many tries', text, requestId }), {
    status: 429,
    headers: { 'retry-after': String(seconds) },
  });
}

interface ConfirmView {
  action: string;
  userCode: string;
  signedInAs: string;
  /** Anybody can request a code: the user must see who did. */
  request: Pick<DeviceCodeRow, 'asked_by' | 'asked_from' | 'created_at'>;
}

function confirmPage(view: ConfirmView): Page {
  const { asked_by, asked_from, created_at } = view.request;
  const hidden = html`<input type="hidden" name="user_code" value="${view.userCode}">`;
  return {
    title: 'Link your git account',
    main: html`<h1>Link your git account</h1>
<p class="lead">A program requests access to read and change your repositories as you.</p>
<div class="compare">
<p id="compare">Does your device show exactly this code?</p>
<output aria-labelledby="compare">${view.userCode}</output>
</div>
<dl class="facts">
<div><dt>Program</dt><dd>${asked_by === '' ? 'unknown' : asked_by}</dd></div>
<div><dt>Requested from</dt><dd>${asked_from}${/^(127\.|::1$)/.test(asked_from) && ' (this server, or a proxy in front of it)'}</dd></div>
<div><dt>Requested at</dt><dd>${created_at.toISOString().slice(0, 16).replace('T', ' ')} UTC</dd></div>
<div><dt>Signed in as</dt><dd>${view.signedInAs} <a href="/oauth/session/end">Not you?</a></dd></div>
</dl>
<form method="post" action="${view.action}">
${hidden}
<input type="hidden" name="confirm" value="yes">
<button class="button" type="submit">Approve</button>
</form>
<form method="post" action="${view.action}">
${hidden}
<input type="hidden" name="abort" value="yes">
<button class="button quiet" type="submit">Deny</button>
</form>
<p class="note">Approve only a request that you started yourself, just now. If somebody sent you the code, deny it: they would get access to your repositories.</p>`,
  };
}

function linkedPage(): Page {
  return {
    title: 'Linked',
    main: html`<div class="mark good">${tick}</div>
<h1>Your git account is linked</h1>
<p class="lead">You may close this page and go back to your device.</p>`,
  };
}

function deniedPage(): Page {
  return {
    title: 'Denied',
    main: html`<div class="mark bad">${cross}</div>
<h1>Access denied</h1>
<p class="lead">The device got no access. You may close this page.</p>
<p class="note">If someone sent you the code, tell your administrator.</p>`,
  };
}

interface RepositoryPath {
  owner: string;
  repo: string;
}

export function parseRepositoryPath(url: Pick<URL, 'pathname'>): RepositoryPath | null {
  const [, owner = '', repo = ''] = /^\/git\/([^/]+)\/([^/]+?)(?:\.git)?\/?$/.exec(url.pathname) ?? [];
  return gitOwnerPattern.test(owner) && gitRepoNamePattern.test(repo) ? { owner, repo } : null;
}

export function createRepositoryPage(deps: GitHostDeps) {
  return async (request: Request, url: URL, info: RequestInfo, path: RepositoryPath): Promise<Response> => {
    info.setRoute('git.page');
    if (request.method !== 'GET' && request.method !== 'HEAD')
      throw fail('method_not_allowed', { headers: { allow: 'GET, HEAD' } });
    const caller = await deps.authenticate(request);
    if (caller?.kind !== 'session') return seeOther(`/login?return_to=${encodeURIComponent(url.pathname)}`);
    const { userId, email, name } = caller;
    const access = await resolveRepository(deps, { kind: 'user', userId, email, name, scope: null }, path);
    if (access) return pageResponse(repositoryPage(deps, access), { status: 200 });
    const text = 'This repository does not exist, or you do not have access to it.';
    const view = { title: 'Repository not found', text, requestId: info.requestId };
    return pageResponse(messagePage(view), { status: 404 });
  };
}

function repositoryPage({ urls }: GitHostDeps, { repo, owner, canPush }: RepositoryAccess): Page {
  const fullName = `${owner.slug}/${repo.name}`;
  return {
    title: fullName,
    main: html`<h1>${fullName}</h1>
${repo.description !== '' && html`<p class="lead">${repo.description}</p>`}
<p><code>git clone ${urls.web}/${fullName}.git</code></p>
<dl class="facts">
<div><dt>Branch</dt><dd>${repo.default_branch}</dd></div>
<div><dt>Last push</dt><dd>${repo.pushed_at?.toISOString() ?? 'none yet'}</dd></div>
<div><dt>Visible to</dt><dd>${repo.is_private ? 'its creator and the owners of its apps' : `everybody in ${owner.slug}`}</dd></div>
<div><dt>You can</dt><dd>${canPush ? 'fetch and push' : 'fetch'}</dd></div>
</dl>
<p class="note">git accepts a personal access token or a login token as the password, with any user name.</p>`,
  };
}
