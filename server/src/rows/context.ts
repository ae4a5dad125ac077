import type { AppRows } from '../drivers/row-database/row-database.ts';
import type { Caller } from '../plumbing/context.ts';
import type { DirectAnswer } from '../plumbing/direct.ts';
import type { Cursors } from './cursor.ts';
import type { Exports } from './export-rows.ts';
import type { Reached } from './reach.ts';
import type { Sent } from './sent.ts';

/** What every call on rows gets: who asks, of which table, with which rights. */
export interface RowsCtx extends Reached {
  caller: Caller;
  rowDb: AppRows;
  cursors: Cursors;
  sent: Sent;
  exports: Exports;
  request: Request;
  /** Without the query. */
  path: string;
  search: string;
  patient(): void;
  /** Whether the caller may still see the same rows here: asked again by what takes long. */
  stillReached(): Promise<boolean>;
}

export type RowsAnswer = Promise<DirectAnswer>;

export function jsonAnswer(
  status: number,
  body: string | Uint8Array,
  headers?: Record<string, string>,
): DirectAnswer {
  return {
    status,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store', ...headers },
    body,
  };
}

export function emptyAnswer(status: number, headers: Record<string, string> = {}): DirectAnswer {
  return { status, headers, body: null };
}
