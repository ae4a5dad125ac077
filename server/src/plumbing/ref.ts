import { uuidPattern } from '@svc/contract/limits.ts';

/** Paths and bodies name things by id or by slug; the contract keeps slugs from having the form of a UUID. */
export function isUuid(text: string): boolean {
  return uuidPattern.test(text);
}
