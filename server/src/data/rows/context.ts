import { idempotencyKeyCharsMax } from '@svc/contract/limits.ts';
import type { Caller } from '../../core/context.ts';
import { fail } from '../../core/problem.ts';
import type { AppRows } from '../../drivers/row-database/row-pool.ts';
import type { FastPathInfo, FastPathRequest, FastPathResponse } from '../../http/handlers.ts';
import type { CallCounter } from '../../http/rate-limit.ts';
import type { ExportLimit } from './export-rows.ts';
import type { RecordRead } from './governed-read.ts';
import type { Cursors } from './plan.ts';
import type { OpenRelated } from './relations.ts';
import type { RequestBody } from './request-body.ts';
import type { TableAccess } from './table-access.ts';

export interface RowsCtx extends Omit<TableAccess, 'until'> {
  caller: Caller;
  rowDb: AppRows;
  ownDb: AppRows;
  cursors: Cursors;
  body: RequestBody;
  exportLimit: ExportLimit;
  previewConflicts: CallCounter;
  request: FastPathRequest;
  path: string;
  search: string;
  info: FastPathInfo;
  currentAccess(): Promise<TableAccess | null>;
  hasSameAccess(): Promise<boolean>;
  recordRead: RecordRead;
  openRelated: OpenRelated;
}

export function jsonResponse(
  status: number,
  body: string | Uint8Array,
  headers?: Record<string, string>,
): FastPathResponse {
  return {
    status,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store', ...headers },
    body,
  };
}

export function emptyResponse(status: number, headers: Record<string, string> = {}): FastPathResponse {
  return { status, headers, body: null };
}

/** Rows in the answer or plan of a change are recorded as read. */
export function recordRows({ recordRead, table }: RowsCtx, rows: number): void {
  if (rows > 0) recordRead({ action: 'read', table, output: table.all, rows });
}

/** In place of an app: `/data/{tenant}/_connectors/{connector}/{schema}/{table}`. */
const connectorsSegment = '_connectors';

export interface RowsPath {
  tenant: string;
  schema?: string;
  app: string;
  table: string;
  tablePath: string;
  rest:
    | { kind: 'table' | 'count' | 'aggregate' | 'changes' | 'batch' | 'access' | 'files' | 'trash' }
    | { kind: 'row' | 'history'; id: string }
    | { kind: 'file'; id: string; column: string }
    | { kind: 'restore'; id: string | null };
}

export function parseRowsPath(path: string): RowsPath | 'malformed' | null {
  const segments = path.split('/');
  const [, , , app, connector = '', schema = '', table = ''] = segments;
  if (app !== connectorsSegment || schema === '' || table === '') return parseTablePath(segments, 3, 4);
  const name = decodeSegment(schema);
  if (!name) return 'malformed';
  const parsed = parseTablePath(segments, 4, 6);
  if (parsed === null || parsed === 'malformed') return parsed;
  parsed.schema = name;
  parsed.tablePath = `/data/${segments[2]}/${connectorsSegment}/${connector}/${schema}/${table}`;
  return parsed;
}

function parseTablePath(
  segments: readonly string[],
  appAt: number,
  tableAt: number,
): RowsPath | 'malformed' | null {
  const [tenant = '', app = '', table = ''] = [segments[2], segments[appAt], segments[tableAt]];
  const [last, below, column] = [segments[tableAt + 1], segments[tableAt + 2], segments[tableAt + 3]];
  const isFile = below === '_files' && !!column;
  if (tenant === '' || app === '' || table === '') return null;
  if (segments.length > tableAt + 4 || (column !== undefined && !isFile)) return null;
  const [tenantName, appName, tableName] = [decodeSegment(tenant), decodeSegment(app), decodeSegment(table)];
  if (!tenantName || !appName || !tableName) return 'malformed';
  const tablePath = `/data/${tenant}/${app}/${table}`;
  const of = (rest: RowsPath['rest']): RowsPath => ({
    tenant: tenantName,
    app: appName,
    table: tableName,
    tablePath,
    rest,
  });
  if (last === undefined) return of({ kind: table === '_batch' ? 'batch' : 'table' });
  // Compared before decoding: a row whose text id is `_count` is addressed as `%5Fcount`.
  const kind =
    below === undefined && last.startsWith('_') && Object.hasOwn(ofTable, last) ? ofTable[last] : undefined;
  if (kind) return of(kind);
  const id = decodeSegment(last);
  if (id === null) return 'malformed';
  if (id === '') return null;
  if (below === undefined) return of({ kind: 'row', id });
  if (isFile) return of({ kind: 'file', id, column });
  const past = below === '_history' ? 'history' : below === '_restore' ? 'restore' : null;
  return past && of({ kind: past, id });
}

const ofTable: Readonly<Record<string, RowsPath['rest']>> = {
  _count: { kind: 'count' },
  _access: { kind: 'access' },
  _files: { kind: 'files' },
  _aggregate: { kind: 'aggregate' },
  _changes: { kind: 'changes' },
  _trash: { kind: 'trash' },
  _restore: { kind: 'restore', id: null },
};

function decodeSegment(segment: string): string | null {
  if (!segment.includes('%')) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return null;
  }
}

/** `Prefer: return=minimal, resolution=merge-duplicates`; unknown preferences are ignored (RFC 7240 §2). */
export function parsePreferences(request: FastPathRequest) {
  const header = request.headers.get('prefer');
  const preferences = header === null ? [] : header.split(/[,;]/).map((item) => item.trim().toLowerCase());
  const ignores = preferences.includes('resolution=ignore-duplicates') ? ('ignore' as const) : null;
  return {
    isMinimal: preferences.includes('return=minimal'),
    isRepresentation: preferences.includes('return=representation'),
    resolution: preferences.includes('resolution=merge-duplicates') ? ('merge' as const) : ignores,
  };
}

/** RFC 7240 §3: which preferences of a change were followed. */
export function withPreferenceApplied(
  request: FastPathRequest,
  response: FastPathResponse,
): FastPathResponse {
  if (request.method === 'GET' || request.method === 'HEAD' || !request.headers.has('prefer'))
    return response;
  const { isMinimal, resolution } = parsePreferences(request);
  const applied = [
    ...(isMinimal && response.body === null ? ['return=minimal'] : []),
    ...(resolution !== null && request.method === 'POST' ? [`resolution=${resolution}-duplicates`] : []),
  ];
  if (applied.length === 0 || response.status >= 300) return response;
  return { ...response, headers: { ...response.headers, 'preference-applied': applied.join(', ') } };
}

export function parseIdempotencyKey(request: FastPathRequest): string | null {
  const key = request.headers.get('idempotency-key');
  if (key === null || (key.length > 0 && key.length <= idempotencyKeyCharsMax)) return key;
  throw fail('validation_failed', {
    detail: `Idempotency-Key must have 1 to ${idempotencyKeyCharsMax} characters.`,
  });
}
