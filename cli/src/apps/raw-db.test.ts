import { expect, test } from 'bun:test';
import { ProblemError } from '@svc/contract/client.ts';
import type { Ctx } from '../context.ts';
import { CliError, timeoutError } from '../framework/errors.ts';
import type { Io } from '../framework/io.ts';
import { reportError } from '../output/report-error.ts';
import { waitForRawDb } from './raw-db.ts';

const problem = (code: 'unauthenticated' | 'not_found' | 'internal', status: number) =>
  new ProblemError({ type: 'about:blank', title: code, status, detail: 'No.', code, request_id: '' }, null);

/** A server whose answer about the status is this one. */
function ctxWith(cause: unknown) {
  const notes: string[] = [];
  const ctx = {
    signal: new AbortController().signal,
    globals: { timeoutMs: 1000 },
    note: (text: string) => notes.push(text),
    client: async () => ({
      call: async () => {
        throw cause;
      },
    }),
  };
  return { ctx: ctx as unknown as Ctx, notes };
}

const options = { params: { tenantID: 'acme', app: 'pet-shop' }, passing: 'creating' } as const;

test.each([
  ['the time', timeoutError(1000), 10],
  ['an interruption', new CliError('interrupted', 'Interrupted.'), 130],
  ['a lost connection', new CliError('no_connection', 'No connection.'), 12],
  ['a login that has ended', problem('unauthenticated', 401), 3],
  ['an app that is gone', problem('not_found', 404), 5],
  ['a fault of the server', problem('internal', 500), 13],
])('a wait that %s ends prints the string and has its own exit code', async (_, cause, exit) => {
  const { ctx, notes } = ctxWith(cause);
  const value = { status: 'creating', connection_string: 'postgresql://a:b@c/d' };
  const settled = await waitForRawDb(ctx, { value }, options);
  const io = { argv: ['--json'], env: {}, err: (text: string) => notes.push(text) };
  const ended = await reportError({ io: io as unknown as Io, words: '' }, settled.failed);
  expect([settled.value, ended]).toEqual([value, exit]);
  expect(notes.join()).toContain('svc apps raw-db status --app pet-shop');
});
