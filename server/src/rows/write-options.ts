import { idempotencyKeyCharsMax } from '@svc/contract/limits.ts';
import { fail } from '../plumbing/problem.ts';

/** `Prefer: return=minimal, resolution=merge-duplicates`; what is not known is ignored, as RFC 7240 wants it. */
export interface Preferences {
  returns: 'representation' | 'minimal';
  resolution: 'merge' | 'ignore' | null;
}

export function preferencesOf(request: Request): Preferences {
  const header = request.headers.get('prefer');
  const given = header === null ? [] : header.split(/[,;]/).map((item) => item.trim().toLowerCase());
  return {
    returns: given.includes('return=minimal') ? 'minimal' : 'representation',
    resolution: given.includes('resolution=merge-duplicates')
      ? 'merge'
      : given.includes('resolution=ignore-duplicates')
        ? 'ignore'
        : null,
  };
}

export function idempotencyKeyOf(request: Request): string | null {
  const key = request.headers.get('idempotency-key');
  if (key === null || (key.length > 0 && key.length <= idempotencyKeyCharsMax)) return key;
  throw fail('validation_failed', {
    detail: `Idempotency-Key is 1 to ${idempotencyKeyCharsMax} characters.`,
  });
}
