import type { EdgeAnswer } from '../plumbing/edge-request.ts';

const robotsHeader = 'x-robots-tag';
const robotsValue = 'noindex, nofollow';
const disallowAll = new TextEncoder().encode('User-agent: *\nDisallow: /\n');
const headers = Object.freeze({
  'content-type': 'text/plain; charset=utf-8',
  'content-length': String(disallowAll.length),
  'cache-control': 'public, max-age=300',
  'x-content-type-options': 'nosniff',
  [robotsHeader]: robotsValue,
});

/** Of staging hosts, to anybody: a crawler signs in nowhere. */
export function robotsAnswer(method: string): EdgeAnswer {
  return { status: 200, headers, body: method === 'HEAD' ? null : disallowAll };
}

/** Every answer of a staging host says so; those of files do by themselves. */
export function noIndex(answer: EdgeAnswer): EdgeAnswer {
  if (answer.headers[robotsHeader] === robotsValue) return answer;
  return { ...answer, headers: { ...answer.headers, [robotsHeader]: robotsValue } };
}
