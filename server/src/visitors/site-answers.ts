import { errorCodes } from '@svc/contract/error-codes.ts';
import type { EdgeAnswer, EdgeRequest } from '../edge/edge-request.ts';
import { html } from '../identity/pages/html.ts';
import { exclamation, type Page, renderPage } from '../identity/pages/layout.ts';
import { type Failure, fail } from '../plumbing/problem.ts';

interface Note {
  title: string;
  text: string;
  link?: { href: string; label: string };
}

/** A page of the platform at a site. */
export function pageAnswer(
  request: Pick<EdgeRequest, 'method'>,
  note: Note,
  { status, headers = {} }: { status: number; headers?: Record<string, string> },
): EdgeAnswer {
  const { body, headers: own } = renderPage(notePage(note));
  return answerOf(request, status, { ...own, ...headers }, body);
}

export function seeOther(location: string, headers: Record<string, string> = {}): EdgeAnswer {
  return {
    status: 303,
    headers: {
      location,
      'content-length': '0',
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      ...headers,
    },
    body: null,
  };
}

/** Without the request's id, which the listener knows: it stands in the header. */
export function problemOf(
  request: Pick<EdgeRequest, 'method'>,
  { code, detail, headers }: Failure,
): EdgeAnswer {
  const { status, means } = errorCodes[code];
  const problem = { type: `urn:svc:problem:${code}`, title: means, status, detail: detail ?? means, code };
  return answerOf(
    request,
    status,
    {
      'content-type': 'application/problem+json',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      ...headers,
    },
    JSON.stringify(problem),
  );
}

export function wrongMethod(request: Pick<EdgeRequest, 'method'>, allow: string): EdgeAnswer {
  return problemOf(request, fail('method_not_allowed', { headers: { allow } }));
}

function answerOf(
  request: Pick<EdgeRequest, 'method'>,
  status: number,
  headers: Record<string, string>,
  text: string,
): EdgeAnswer {
  const body = new TextEncoder().encode(text);
  return {
    status,
    headers: { ...headers, 'content-length': String(body.length) },
    body: request.method === 'HEAD' ? null : body,
  };
}

function notePage({ title, text, link }: Note): Page {
  return {
    title,
    main: html`<div class="mark bad">${exclamation}</div>
<h1>${title}</h1>
<p class="lead">${text}</p>
${link && html`<a class="button quiet" href="${link.href}">${link.label}</a>`}`,
  };
}
