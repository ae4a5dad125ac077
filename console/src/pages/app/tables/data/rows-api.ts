import { ProblemError } from '@svc/contract/client.ts';
import { jsonItems, jsonMembers, objectText, type RawRow } from '@svc/contract/json.ts';
import { jsonLinesMediaType, noteHeader } from '@svc/contract/rows.ts';
import { createRowsClient, type RowAnswer, type RowsClient } from '@svc/sdk/rows.ts';
import { handleSignedOut } from '../../../../api/client.ts';
import { formatCell } from './cell-value.ts';

interface RowPage {
  rows: readonly RawRow[];
  nextCursor: string | null;
  /** What may be a mistake in the query. */
  note: string | null;
}

export interface VersionedRow {
  row: RawRow;
  etag: string;
}

export function rowsAt(path: string): RowsClient {
  const client = createRowsClient({ url: path, fetch: (url, init) => fetch(url, init) });
  const watched =
    <A extends unknown[], T>(call: (...args: A) => Promise<T>) =>
    (...args: A) =>
      call(...args).catch((error: unknown) => {
        if (error instanceof ProblemError) handleSignedOut(error);
        throw error;
      });
  return { call: watched(client.call), open: watched(client.open) };
}

export async function fetchPage(
  path: string,
  search: URLSearchParams,
  signal?: AbortSignal,
  of?: 'aggregate',
): Promise<RowPage> {
  const { text, headers } = await rowsAt(path).call({ of, query: [...search], signal });
  const page = jsonMembers(text);
  const cursor = page.get('next_cursor') ?? 'null';
  return {
    rows: jsonItems(page.get('data') ?? '[]').map(jsonMembers),
    nextCursor: JSON.parse(cursor),
    note: headers.get(noteHeader),
  };
}

/** Counts up to a cap, so that a large table costs no full scan. */
export async function fetchCount(
  path: string,
  search: URLSearchParams,
  signal?: AbortSignal,
): Promise<number> {
  const capped = new URLSearchParams(search);
  capped.set('count', 'capped');
  const { text } = await rowsAt(path).call({ of: 'count', query: [...capped], signal });
  return Number(JSON.parse(text).count);
}

export async function fetchRow(path: string, id: string): Promise<VersionedRow> {
  return readRow(await rowsAt(path).call({ of: rowRef(id) }));
}

export async function patchRow(
  path: string,
  id: string,
  changes: RawRow,
  etag: string,
): Promise<VersionedRow> {
  const headers = { 'if-match': etag };
  const body = objectText(changes);
  return readRow(await rowsAt(path).call({ method: 'PATCH', of: rowRef(id), headers, body }));
}

export async function insertRow(path: string, row: RawRow, key: string): Promise<VersionedRow> {
  const headers = { 'idempotency-key': key };
  return readRow(await rowsAt(path).call({ method: 'POST', headers, body: objectText(row) }));
}

export async function deleteRow(path: string, id: string, etag: string): Promise<void> {
  await rowsAt(path).call({ method: 'DELETE', of: rowRef(id), headers: { 'if-match': etag } });
}

export async function streamRows(
  path: string,
  search: URLSearchParams,
  signal: AbortSignal,
): Promise<ReadableStream<Uint8Array>> {
  const headers = { accept: jsonLinesMediaType };
  const { body } = await rowsAt(path).open({ query: [...search], headers, signal });
  return body ?? new Blob([]).stream();
}

const rowRef = (id: string) => ({ id: formatCell('text', id) });

const readRow = ({ text, headers }: RowAnswer): VersionedRow => ({
  row: jsonMembers(text),
  etag: headers.get('etag') ?? '',
});
