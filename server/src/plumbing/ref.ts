import { uuidPattern } from '@svc/contract/limits.ts';

/** Paths and bodies name things by id or by slug; the contract keeps slugs from having the form of a UUID. */
export function isUuid(text: string): boolean {
  return uuidPattern.test(text);
}

/** Nothing has it: for look-ups that are made although there is nothing to be found. */
export const noUuid = '00000000-0000-0000-0000-000000000000';
