import type { EdgeRequest, EdgeResponse } from '../../http/edge-request.ts';
import { type ChallengeLookup, challengePrefix } from '../certificates/certificates.ts';

/** A page of the platform at a site's host. It does not reveal whose site it is. */
export interface PlainPage {
  status: number;
  headers: Readonly<Record<string, string>>;
  bytes: Uint8Array;
}

export function plainPage(
  status: number,
  title: string,
  text: string,
  headers: Record<string, string> = {},
): PlainPage {
  const bytes = new TextEncoder().encode(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>
  :root { color-scheme: light dark; font: 16px/1.6 system-ui, sans-serif; }
  body { max-width: 32rem; margin: 20vh auto; padding: 0 1.25rem; }
</style>
<h1>${title}</h1>
<p>${text}</p>
</html>
`);
  return {
    status,
    bytes,
    headers: Object.freeze({
      'content-type': 'text/html; charset=utf-8',
      'content-length': String(bytes.length),
      'cache-control': 'no-store',
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
      'x-content-type-options': 'nosniff',
      ...headers,
    }),
  };
}

export function pageResponse({ status, headers, bytes }: PlainPage, method: string): EdgeResponse {
  return { status, headers, body: method === 'HEAD' ? null : bytes };
}

export const notFoundPage = plainPage(404, 'Not found', 'There is nothing at this address.');
/** Varies by `Accept`, because requests for HTML get the fallback page of a single-page app. */
export const notAcceptedPage = plainPage(404, 'Not found', 'There is nothing at this address.', {
  vary: 'accept',
});
export const unpublishedPage = plainPage(
  404,
  'Nothing published yet',
  'The app exists, but has no site at this address.',
);
export const badPathPage = plainPage(400, 'Invalid address', 'The path of the address is not valid.');
export const badHostPage = plainPage(
  400,
  'Invalid address',
  'The host is not valid, or there is more than one.',
);
export const misdirectedPage = plainPage(421, 'Nothing here', 'This server does not serve this host.');
export const tooLongPage = plainPage(414, 'Address too long', 'The address is too long.');
export const methodPage = plainPage(405, 'Method not allowed', 'Files of a site are read-only.', {
  allow: 'GET, HEAD',
});
export const serviceWorkerPage = plainPage(403, 'No service workers', 'Sites cannot use a service worker.');
export const preconditionPage = plainPage(412, 'File has changed', 'The file is not the requested version.');
export const faultPage = plainPage(
  500,
  'Something went wrong',
  'An internal error occurred. Please try again later.',
);
export const startingPage = plainPage(503, 'Starting', 'The app is starting. Please try again in a moment.', {
  'retry-after': '2',
});
export const unreachablePage = plainPage(
  502,
  'The app does not respond',
  'Its response could not be read. Please try again later.',
);
export const overduePage = plainPage(504, 'The app took too long', 'It did not respond in time.');
export const unavailablePage = plainPage(503, 'Not available right now', 'Please try again in a moment.', {
  'retry-after': '1',
});

/** The HTTP challenge of ACME (RFC 8555, 8.3). */
export async function challengeResponse(
  challengeLookup: ChallengeLookup,
  { method, path }: Pick<EdgeRequest, 'method' | 'path'>,
): Promise<EdgeResponse> {
  if (method !== 'GET' && method !== 'HEAD') return pageResponse(methodPage, method);
  const answer = await challengeLookup(path.slice(challengePrefix.length));
  if (answer === null) return pageResponse(notFoundPage, method);
  const body = new TextEncoder().encode(answer);
  return {
    status: 200,
    headers: {
      'content-type': 'application/octet-stream',
      'content-length': String(body.length),
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    },
    body: method === 'HEAD' ? null : body,
  };
}
