import { sha256 } from '../plumbing/canonical.ts';
import type { EdgeAnswer, EdgeRequest } from '../plumbing/edge-request.ts';
import { fail } from '../plumbing/problem.ts';
import type { PlatformPathParts } from './answer-platform-path.ts';
import { isOwnPage } from './came-from.ts';
import { dropCookie, secretIn, visitCookie } from './cookies.ts';
import { endVisit } from './end-visit.ts';
import { originAt } from './origin-at.ts';
import { notePage, pageAnswer, problemOf, wrongMethod } from './site-answers.ts';

/** `/.svc/logout`: ends the visit here. The person stays signed in to the platform. */
export async function leaveSite(parts: PlatformPathParts, request: EdgeRequest): Promise<EdgeAnswer> {
  if (request.method !== 'POST') return wrongMethod(request, 'POST');
  if (!isOwnPage(request, originAt(request, parts))) return problemOf(request, fail('cross_site_request'));
  const token = secretIn(request, visitCookie);
  if (token !== null) await endVisit(parts, { tokenHash: sha256(token), host: request.host });
  const page = notePage({
    mark: 'good',
    title: 'You have left this site',
    text: 'You may still be signed in to svc itself; then coming back needs no password.',
    link: { href: '/', label: 'Come back' },
  });
  return pageAnswer(request, page, { status: 200, headers: { 'set-cookie': dropCookie(visitCookie) } });
}
