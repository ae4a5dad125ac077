import type { EdgeRequest } from '../plumbing/edge-request.ts';

/** A page of another host sent it; false also where the browser says nothing of it. */
export function isFromElsewhere(request: EdgeRequest): boolean {
  const site = request.header('sec-fetch-site');
  return site === 'same-site' || site === 'cross-site';
}

/** A browser sends its cookie along with forms of other sites too, where they are of the same registrable domain. */
export function isOwnPage(request: EdgeRequest, origin: string): boolean {
  const site = request.header('sec-fetch-site');
  const from = request.header('origin');
  return (site === null || site === 'same-origin') && (from === null || from === 'null' || from === origin);
}
