import type { EdgeAnswer } from '../plumbing/edge-request.ts';

/** A page of the platform's own at a site's host: says what is the case and nothing of whose site it is. */
export interface PlainPage {
  status: number;
  headers: Readonly<Record<string, string>>;
  bytes: Uint8Array;
}

export function plainPage(
  status: number,
  { title, text, headers = {} }: { title: string; text: string; headers?: Record<string, string> },
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

export function pageAnswer({ status, headers, bytes }: PlainPage, method: string): EdgeAnswer {
  return { status, headers, body: method === 'HEAD' ? null : bytes };
}

export const notFoundPage = plainPage(404, {
  title: 'Not found',
  text: 'There is nothing at this address.',
});
/** Where a page would have answered to somebody who takes pages. */
export const notAcceptedPage = plainPage(404, {
  title: 'Not found',
  text: 'There is nothing at this address.',
  headers: { vary: 'accept' },
});
export const nothingShownPage = plainPage(404, {
  title: 'Nothing is shown here yet',
  text: 'The app is there, but it shows no site at this address.',
});
export const badPathPage = plainPage(400, {
  title: 'Not an address',
  text: 'The path of the address can not be read.',
});
export const badHostPage = plainPage(400, {
  title: 'Not an address',
  text: 'The host can not be read, or there is more than one.',
});
export const misdirectedPage = plainPage(421, {
  title: 'Nothing here',
  text: 'Nothing answers at this name.',
});
export const tooLongPage = plainPage(414, { title: 'Too long', text: 'The address is too long.' });
export const methodPage = plainPage(405, {
  title: 'Not possible here',
  text: 'Files of a site can be read, and nothing else.',
  headers: { allow: 'GET, HEAD' },
});
export const serviceWorkerPage = plainPage(403, {
  title: 'No service workers',
  text: 'Sites here can not have a service worker.',
});
export const preconditionPage = plainPage(412, {
  title: 'Changed meanwhile',
  text: 'The file is another one than was asked for.',
});
export const faultPage = plainPage(500, {
  title: 'Something went wrong',
  text: 'It is not your fault. Please try again later.',
});
export const startingPage = plainPage(503, {
  title: 'Starting',
  text: 'The app is about to run. Please try again in a moment.',
  headers: { 'retry-after': '2' },
});
export const unreachablePage = plainPage(502, {
  title: 'The app does not answer',
  text: 'It runs, and its answer could not be read. Please try again later.',
});
export const overduePage = plainPage(504, {
  title: 'The app took too long',
  text: 'It was asked, and has not answered in time.',
});
export const unavailablePage = plainPage(503, {
  title: 'Not available right now',
  text: 'Please try again in a moment.',
  headers: { 'retry-after': '1' },
});
