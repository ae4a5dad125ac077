import type { User } from '@svc/contract/identity.shapes.ts';
import type { z } from 'zod';
import { invalid } from '../plumbing/problem.ts';
import type { UserRow } from './store.ts';

export type UserRecord = z.output<typeof User>;

const passwordCharsMin = 8;
/** Hashing is slow on purpose; how much is hashed is bounded. */
export const passwordBytesMax = 1024;
const emailCharsMax = 254;
const nameCharsMax = 200;

/** Whether mail arrives is not for a pattern to say: one `@`, something on both sides, nothing unprintable. */
export function checkedEmail(text: string): string {
  const email = text.trim().toLowerCase();
  if (email.length > emailCharsMax || !/^[^\s@\p{C}]+@[^\s@\p{C}]+$/u.test(email)) {
    throw invalid('email', 'must be an e-mail address');
  }
  return email;
}

/** A user without a name goes by what stands before the `@`. */
export function checkedName(text: string, email: string): string {
  const name = text.trim() || email.slice(0, email.indexOf('@'));
  if ([...name].length > nameCharsMax || /\p{Cc}/u.test(name)) {
    throw invalid('name', `must be at most ${nameCharsMax} printable characters`);
  }
  return name;
}

export function checkedPassword(password: string): string {
  if ([...password].length < passwordCharsMin) {
    throw invalid('password', `must be at least ${passwordCharsMin} characters`);
  }
  if (Buffer.byteLength(password) > passwordBytesMax) {
    throw invalid('password', `must be at most ${passwordBytesMax} bytes`);
  }
  return password;
}

export function userRecord({ id, email, name, status }: UserRow): UserRecord {
  return { id, email, name, status };
}
