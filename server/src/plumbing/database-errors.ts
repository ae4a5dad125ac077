import { type Failure, fail } from './problem.ts';

/** What a fault of the database means to the caller. Its text never leaves: it can hold values of rows. */
export function failureOfDatabase(error: unknown): Failure | null {
  const code = sqlState(error);
  if (code === null) return isConnectionFault(error) ? fail('unavailable', {}, { cause: error }) : null;
  if (code === '57014') return fail('query_timeout', {}, { cause: error });
  // A text that the database can not hold, past every check: NUL, or a lone surrogate in JSON.
  if (code === '22021' || code === '22P05') return fail('validation_failed', {}, { cause: error });
  if (code === '23505') return fail('unique_violation', {}, { cause: error });
  // 08 connection, 53 resources (disk full, too many connections), 57P admin shutdown, 40 deadlock or serialization,
  // 55P03 a lock not had in time, 25P03/25P04 our own transaction limits, 58030 input/output.
  if (/^(08|53|57P|40|55P03|25P03|25P04|58030)/.test(code)) return fail('unavailable', {}, { cause: error });
  return null;
}

/** Deadlocks and serialization faults: the same transaction may succeed when run again. */
export function isRetryable(error: unknown): boolean {
  const code = sqlState(error);
  return code === '40001' || code === '40P01';
}

export function sqlState(error: unknown): string | null {
  // Errors of the socket have codes too, and EPIPE has the form of a state: only the server's own carry a severity.
  if (!(error instanceof Error) || !('severity' in error) || !('code' in error)) return null;
  return typeof error.code === 'string' ? error.code : null;
}

/** Errors of the driver have no code of their own; those of the socket are told from a missing file by their call. */
function isConnectionFault(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (
    'syscall' in error &&
    'code' in error &&
    /^(ECONN|EPIPE|ENOENT|ETIMEDOUT|EHOSTUNREACH)/.test(String(error.code))
  ) {
    return ['connect', 'read', 'write'].includes(String(error.syscall));
  }
  if ('code' in error && /^(ECONN|EPIPE|ETIMEDOUT)/.test(String(error.code))) return true;
  return /Connection terminated|timeout exceeded when trying to connect|Query read timeout|Client has encountered|not queryable|pool after calling end/i.test(
    error.message,
  );
}
