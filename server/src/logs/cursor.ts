import { fail } from '../plumbing/problem.ts';
import type { LogScope } from './store.ts';

/** The last line that was read, bound to whose it is. Not signed: it finds nothing that its holder may not read. */
export function logCursor(scope: LogScope, after: number): string {
  return Buffer.from(`${nameOf(scope)} ${after}`).toString('base64url');
}

export function readLogCursor(scope: LogScope, cursor: string): number {
  const [, name, after] = /^(.+) (\d{1,15})$/.exec(Buffer.from(cursor, 'base64url').toString('latin1')) ?? [];
  if (name !== nameOf(scope)) throw fail('invalid_cursor');
  return Number(after);
}

function nameOf({ appId, source, deploymentId }: LogScope): string {
  return `${source} ${deploymentId ?? appId}`;
}
