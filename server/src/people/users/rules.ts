import type { User } from '@svc/contract/identity.shapes.ts';
import { isSafeName, safeNameExpected } from '@svc/contract/safe-names.ts';
import type { z } from 'zod';
import { validationError } from '../../core/problem.ts';
import type { UserRow } from './store.ts';

export type UserRecord = z.output<typeof User>;

const emailCharsMax = 254;
export const userNameCharsMax = 200;

/** Deliberately loose: one `@`, text on both sides, no unprintable characters. */
export function parseEmail(text: string): string {
  const email = text.trim().toLowerCase();
  if (email.length > emailCharsMax || !/^[^\s@\p{C}]+@[^\s@\p{C}]+$/u.test(email)) {
    throw validationError('email', 'must be an e-mail address');
  }
  return email;
}

export function parseName(text: string, email: string): string {
  const name = text.trim() || email.slice(0, email.indexOf('@'));
  if ([...name].length > userNameCharsMax)
    throw validationError('name', `must be at most ${userNameCharsMax} characters`);
  if (!isSafeName(name)) throw validationError('name', safeNameExpected);
  return name;
}

export function userRecord({ id, email, name, status }: UserRow): UserRecord {
  return { id, email, name, status };
}
