import { sqlState } from '../plumbing/database-errors.ts';
import { fail } from '../plumbing/problem.ts';

/** What PostgreSQL says when a column must have values, and rows that are there have none. */
export function refuseMissingValues(error: unknown): never {
  if (sqlState(error) !== '23502') throw error;
  throw fail('not_null_violation', {}, { cause: error });
}
