import { ProblemError } from '@svc/contract/client.ts';

const firstMs = 1_000;
const longestMs = 30_000;
/** Time, or a new sign-in, mends these. */
const passing = [401, 408, 429];

/** How long to wait before a log is asked for again that could not be read; null: asking again would not help. */
export function retryPause(error: unknown, failures: number): number | null {
  if (error instanceof ProblemError) {
    const { status } = error.problem;
    if (status < 500 && !passing.includes(status)) return null;
    if (error.retryAfterSeconds !== null) return Math.min(error.retryAfterSeconds * 1_000, longestMs);
  }
  return Math.min(firstMs * 2 ** (failures - 1), longestMs);
}
