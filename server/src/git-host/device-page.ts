import { giveBackAttempt, takeAttempt } from '../identity/login-attempts.ts';
import { deviceCodePage } from '../identity/pages/device.ts';
import { type Page, pageResponse } from '../identity/pages/layout.ts';
import { messagePage } from '../identity/pages/message.ts';
import type { Caller } from '../plumbing/context.ts';
import { Failure, fail } from '../plumbing/problem.ts';
import { readBody } from '../plumbing/read-body.ts';
import { seeOther } from '../plumbing/see-other.ts';
import type { Handle } from '../plumbing/serve.ts';
import { answerDeviceCode, findByUserCode } from './device-store.ts';
import { confirmPage, deniedPage, donePage } from './device-views.ts';
import type { GitHostParts } from './git-host-parts.ts';
import { devicePath } from './paths.ts';
import { typedUserCode } from './user-code.ts';

const bodyBytesMax = 4 * 1024;
const wrongCodesMax = 10;
const wrongCodesSeconds = 600;

const words = {
  unknown: 'There is no such code. Check it and try again.',
  expired: 'This code has expired. Start again on your device to get a new one.',
  used: 'This code has been used. Start again on your device to get a new one.',
} as const;

/** Where a person who is signed in approves or denies the code that a device shows. */
export function createDevicePage(parts: GitHostParts): Handle {
  return async (request, url, info) => {
    info.setRoute('git.login');
    if (request.method !== 'GET' && request.method !== 'HEAD' && request.method !== 'POST')
      throw fail('method_not_allowed', { headers: { allow: 'GET, HEAD, POST' } });
    try {
      // With a cookie, what another site makes a browser send is refused here.
      const caller = await parts.authenticate(request);
      if (caller?.kind !== 'session') return signInFirst(url);
      if (request.method !== 'POST') return show(codePage(given(url), null));
      return await answer(parts, request, caller, info.requestId);
    } catch (error) {
      if (!(error instanceof Failure) || error.code !== 'cross_site_request') throw error;
      const text = 'This was sent by another site. Enter the code here yourself.';
      return show(messagePage({ title: 'That did not work', text, requestId: info.requestId }), 403);
    }
  };
}

async function answer(
  parts: GitHostParts,
  request: Request,
  caller: Caller,
  requestId: string,
): Promise<Response> {
  const { db, now } = parts;
  const form = new URLSearchParams(
    new TextDecoder().decode(await readBody(request, { bytesMax: bodyBytesMax })),
  );
  const typed = form.get('user_code') ?? '';
  // Counted before it is looked up, so that many at once are no way around; a right one is given back.
  const limits = [{ key: `git-device:user:${caller.userId}`, max: wrongCodesMax }];
  const seconds = await takeAttempt(db, limits, wrongCodesSeconds);
  if (seconds !== null) return tooMany(seconds, requestId);
  const userCode = typedUserCode(typed);
  const code = userCode === null ? undefined : await findByUserCode(db, userCode);
  if (!code || userCode === null) return show(codePage(typed, words.unknown), 400);
  await giveBackAttempt(db, limits);
  if (code.expires_at <= now()) return show(codePage('', words.expired), 400);
  if (code.approved_by !== null || code.denied_at !== null) return show(codePage('', words.used), 400);
  const isDenied = form.has('abort');
  if (!isDenied && form.get('confirm') !== 'yes')
    return show(confirmPage({ action: devicePath, userCode, signedInAs: caller.email, asked: code }));
  const at = now();
  const outcome = isDenied ? { denied_at: at } : { approved_by: caller.userId };
  if (!(await answerDeviceCode(db, userCode, { now: at, ...outcome })))
    return show(codePage('', words.used), 400);
  return show(isDenied ? deniedPage() : donePage());
}

function given(url: URL): string {
  return url.searchParams.get('user_code')?.slice(0, 16) ?? '';
}

function signInFirst(url: URL): Response {
  const back = `${devicePath}${url.search}`;
  return seeOther(`/login?return_to=${encodeURIComponent(back)}`);
}

function codePage(userCode: string, error: string | null): Page {
  return deviceCodePage({ action: devicePath, xsrf: '', userCode: userCode.slice(0, 16), error });
}

function show(page: Page, status = 200): Response {
  return pageResponse(page, { status });
}

function tooMany(seconds: number, requestId: string): Response {
  const text = `Too many codes were tried. Wait ${seconds} seconds, then try again.`;
  return pageResponse(messagePage({ title: 'Too many tries', text, requestId }), {
    status: 429,
    headers: { 'retry-after': String(seconds) },
  });
}
