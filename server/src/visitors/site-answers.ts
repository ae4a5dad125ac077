import { html } from '../identity/pages/html.ts';
import { exclamation, type Page, renderPage, tick } from '../identity/pages/layout.ts';
import type { EdgeAnswer, EdgeRequest } from '../plumbing/edge-request.ts';
import { type Failure, fail, problemAnswer } from '../plumbing/problem.ts';

interface Note {
  mark: 'good' | 'bad';
  title: string;
  text: string;
  link?: { href: string; label: string };
}

/** A page of the platform at a site. */
export function pageAnswer(
  request: Pick<EdgeRequest, 'method'>,
  page: Page,
  { status, headers = {} }: { status: number; headers?: Record<string, string> },
): EdgeAnswer {
  const { body, headers: own } = renderPage(page);
  return answerOf(request, status, { ...own, ...headers }, body);
}

export function sendOn(location: string, headers: Record<string, string> = {}): EdgeAnswer {
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

export function problemOf(request: EdgeRequest, failure: Failure): EdgeAnswer {
  const { status, headers, body } = problemAnswer(failure, request.requestId());
  return answerOf(request, status, { ...headers, 'x-content-type-options': 'nosniff' }, body);
}

export function wrongMethod(request: EdgeRequest, allow: string): EdgeAnswer {
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

export function notePage({ mark, title, text, link }: Note): Page {
  return {
    title,
    main: html`<div class="mark ${mark}">${mark === 'good' ? tick : exclamation}</div>
<h1>${title}</h1>
<p class="lead">${text}</p>
${link && html`<a class="button quiet" href="${link.href}">${link.label}</a>`}`,
  };
}
