import { answerError, UnexpectedAnswerError } from '@svc/contract/client.ts';
import { rowSegment } from '@svc/contract/row-path.ts';
import { jsonLinesMediaType } from '@svc/contract/rows.ts';
import { noteSignedOut } from '../../../../api/query-client.ts';
import { cellText } from './cell-value.ts';
import { itemsOf, membersOf, objectText, type RawRow } from './raw-json.ts';

export interface RowPage {
  rows: readonly RawRow[];
  nextCursor: string | null;
}

/** A row with what tells whether it has changed since. */
export interface ReadRow {
  row: RawRow;
  etag: string;
}

export interface Stored {
  inserted: number;
  updated: number;
}

/** Calls of the row API with their JSON to the letter: the common client reads numbers as a browser does. */
export async function fetchPage(
  path: string,
  search: URLSearchParams,
  signal?: AbortSignal,
): Promise<RowPage> {
  const { text } = await send(`${path}?${search}`, signal ? { signal } : {});
  const page = membersOf(text);
  const cursor = page.get('next_cursor') ?? 'null';
  return { rows: itemsOf(page.get('data') ?? '[]').map(membersOf), nextCursor: JSON.parse(cursor) };
}

/** Not beyond where a count would no longer tell much. */
export async function fetchCount(
  path: string,
  search: URLSearchParams,
  signal?: AbortSignal,
): Promise<number> {
  const capped = new URLSearchParams(search);
  capped.set('count', 'capped');
  const { text } = await send(`${path}/_count?${capped}`, signal ? { signal } : {});
  return Number(JSON.parse(text).count);
}

export async function fetchRow(path: string, id: string): Promise<ReadRow> {
  return readRow(await send(rowAddress(path, id)));
}

export async function patchRow(path: string, id: string, changes: RawRow, etag: string): Promise<ReadRow> {
  const headers = { 'content-type': 'application/json', 'if-match': etag };
  return readRow(await send(rowAddress(path, id), { method: 'PATCH', headers, body: objectText(changes) }));
}

export async function insertRow(path: string, row: RawRow, key: string): Promise<ReadRow> {
  const headers = { 'content-type': 'application/json', 'idempotency-key': key };
  return readRow(await send(path, { method: 'POST', headers, body: objectText(row) }));
}

export async function deleteRow(path: string, id: string, etag: string): Promise<void> {
  await send(rowAddress(path, id), { method: 'DELETE', headers: { 'if-match': etag } });
}

export type Resolution = 'merge-duplicates' | 'ignore-duplicates';

export async function insertLines(
  path: string,
  lines: string,
  options: { key: string; upsert: { on: string; resolution: Resolution } | null; signal: AbortSignal },
): Promise<Stored> {
  const { key, upsert, signal } = options;
  const search = upsert ? `?${new URLSearchParams({ on_conflict: upsert.on })}` : '';
  const headers: Record<string, string> = { 'content-type': jsonLinesMediaType, 'idempotency-key': key };
  if (upsert) headers.prefer = `resolution=${upsert.resolution}`;
  const { text } = await send(path + search, { method: 'POST', headers, body: lines, signal });
  const { inserted = 0, updated = 0 } = JSON.parse(text);
  return { inserted, updated };
}

/** All rows of a list, as the server writes them: one line each. */
export async function streamRows(
  path: string,
  search: URLSearchParams,
  signal: AbortSignal,
): Promise<ReadableStream<Uint8Array>> {
  const url = `${path}?${search}`;
  const response = await fetch(url, { headers: { accept: jsonLinesMediaType }, signal });
  if (response.ok && response.body) return response.body;
  throw await refusal(response, url);
}

/** The id is its JSON: a text or a number. */
const rowAddress = (path: string, id: string) => `${path}/${rowSegment(cellText('text', id))}`;

async function send(url: string, init: RequestInit = {}): Promise<{ text: string; etag: string }> {
  const headers = { accept: 'application/json', ...init.headers };
  const response = await fetch(url, { ...init, headers });
  if (!response.ok) throw await refusal(response, url);
  return { text: await response.text(), etag: response.headers.get('etag') ?? '' };
}

async function refusal(response: Response, url: string): Promise<Error> {
  try {
    const error = answerError(response, url, JSON.parse(await response.text()));
    noteSignedOut(error);
    return error;
  } catch {
    return new UnexpectedAnswerError(response.status, url, response.headers.get('x-request-id'));
  }
}

const readRow = ({ text, etag }: { text: string; etag: string }): ReadRow => ({ row: membersOf(text), etag });
