import pino from 'pino';
import { Failure } from '../core/problem.ts';

export const silentLog = pino({ level: 'silent' });

export function failureCode(attempt: Promise<unknown>): Promise<string> {
  return attempt.then(
    () => 'no error',
    (error: unknown) => (error instanceof Failure ? error.code : String(error)),
  );
}
