import { uuidPattern } from '@svc/contract/limits.ts';
import { fail } from '../plumbing/problem.ts';
import { createRateLimit } from '../plumbing/rate-limit.ts';
import type { Handle } from '../plumbing/serve.ts';
import { type IconParts, receiveIcon } from './receive-icon.ts';
import { serveIcon } from './serve-icon.ts';

export const iconsPrefix = '/icons/';

/** Answers `/icons/<id>`: everybody reads, and who was given the address to upload to writes, once. */
export function createIcons(given: Omit<IconParts, 'rateLimit'>): Handle {
  const parts: IconParts = { ...given, rateLimit: createRateLimit(given.now) };
  return async (request, url, info) => {
    info.setRoute('icons');
    const id = url.pathname.slice(iconsPrefix.length);
    // One spelling per icon.
    if (!uuidPattern.test(id) || id !== id.toLowerCase()) throw fail('not_found');
    switch (request.method) {
      case 'GET':
      case 'HEAD':
        return serveIcon(parts, { id, request, info });
      case 'PUT':
        return receiveIcon(parts, { id, token: url.searchParams.get('token'), request, info });
      default:
        throw fail('method_not_allowed', { headers: { allow: 'GET, HEAD, PUT' } });
    }
  };
}
