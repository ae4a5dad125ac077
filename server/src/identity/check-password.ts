import type { Db } from '../plumbing/db.ts';
import type { UserRecord } from '../users/rules.ts';
import { verifyPassword } from '../users/verify-password.ts';

/** Each takes 64 MiB while it runs: a flood of sign-ins waits in line instead of filling the memory. */
const atOnceMax = 4;
let running = 0;
const waiting: (() => void)[] = [];

/** The active user with this address and password, or null. */
export async function checkPassword(
  db: Db,
  input: { email: string; password: string },
): Promise<UserRecord | null> {
  if (running < atOnceMax) running++;
  else await new Promise<void>((resolve) => waiting.push(resolve));
  try {
    return await verifyPassword({ db }, input);
  } finally {
    // The place goes straight to the next in line, so nobody can slip in between.
    const next = waiting.shift();
    if (next) next();
    else running--;
  }
}
