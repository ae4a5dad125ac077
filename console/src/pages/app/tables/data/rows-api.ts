import { ProblemError } from '@svc/contract/client.ts';
import { jsonItems, jsonMembers, objectText, type RawRow } from '@svc/contract/json.ts';
import { jsonLinesMediaType, noteHeader, peopleIdsMax } from '@svc/contract/rows.ts';
import { createRowsClient, type RowAnswer, type RowsClient } from '@svc/sdk/rows.ts';
import { handleSignedOut } from '../../../../api/client.ts';
import { formatCell } from './cell-value.ts';

export interface RowPage {
  rows: readonly RawRow[];
  nextCursor: string | null;
  /** Possible mistakes in the query. */
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

/** Names by user id, of people in rows that the caller may read. */
export async function fetchNames(
  path: string,
  ids: readonly string[],
  signal?: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  const names = new Map<string, string>();
  for (let at = 0; at < ids.length; at += peopleIdsMax) {
    const query = [['ids', ids.slice(at, at + peopleIdsMax).join(',')] as const];
    const { text } = await rowsAt(path).call({ query, signal });
    const { data } = JSON.parse(text) as { data: { id: string; name: string; email: string | null }[] };
    for (const { id, name, email } of data) names.set(id, name || email || id);
  }
  return names;
}

/** The table as the caller sees it: hidden columns are absent. */
export async function fetchVisibleColumns(
  path: string,
  signal?: AbortSignal,
): Promise<ReadonlyMap<string, { mask: string | null }>> {
  const { text } = await rowsAt(`${path}/_access`).call({ signal });
  const { actions, columns } = JSON.parse(text) as {
    actions: string[];
    columns: { name: string; mask: string | null }[];
  };
  return new Map(actions.includes('read') ? columns.map(({ name, mask }) => [name, { mask }]) : []);
}

/** The value for the column, as JSON. */
export async function uploadFile(path: string, column: string, file: File): Promise<string> {
  const type = file.type || 'application/octet-stream';
  const body = JSON.stringify({ column, name: file.name, type, size: file.size });
  const { text } = await rowsAt(`${path}/_files`).call({ method: 'POST', body });
  const {
    file: value,
    put_url,
    headers,
  } = JSON.parse(text) as {
    file: object;
    put_url: string;
    headers: Record<string, string>;
  };
  const put = await fetch(put_url, { method: 'PUT', headers, body: file, credentials: 'omit' });
  if (!put.ok) throw new Error(`The upload answered ${put.status}.`);
  return JSON.stringify(value);
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

/** Inserts a deleted row again. */
export async function restoreRow(path: string, id: string): Promise<void> {
  const of = { ...rowRef(id), below: 'restore' } as const;
  await rowsAt(path).call({ method: 'POST', of, body: '{}' });
}

/** Undoes what a request did to rows of the table; a dry run answers the plan. */
export async function restoreRequest(
  path: string,
  { requestId, by }: { requestId: string | null; by: string | null },
  { dryRun = false, ifPlan, key }: { dryRun?: boolean; ifPlan?: string; key?: string },
): Promise<string> {
  const headers: Record<string, string> = {};
  if (ifPlan !== undefined) headers['if-plan'] = ifPlan;
  if (key !== undefined) headers['idempotency-key'] = key;
  const query = dryRun ? [['dry_run', 'true'] as const] : [];
  const body = JSON.stringify({ request_id: requestId, by: by ?? undefined });
  return (await rowsAt(path).call({ method: 'POST', of: 'restore', query, headers, body })).text;
}

export interface MatchingChange {
  filters: readonly (readonly [name: string, value: string])[];
  rowsMax: number;
  /** Null deletes the rows. */
  values: RawRow | null;
  dryRun?: boolean;
  ifPlan?: string | undefined;
  key?: string;
}

export async function changeMatching(path: string, change: MatchingChange): Promise<string> {
  const { filters, rowsMax, values, dryRun, ifPlan, key } = change;
  const headers: Record<string, string> = {};
  if (ifPlan !== undefined) headers['if-plan'] = ifPlan;
  if (key !== undefined) headers['idempotency-key'] = key;
  const query = [...filters, ['_max_affected', String(rowsMax)] as const];
  if (dryRun) query.push(['dry_run', 'true']);
  const body = values ? { body: objectText(values) } : {};
  const method = values ? 'PATCH' : 'DELETE';
  return (await rowsAt(path).call({ method, query, headers, ...body })).text;
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
