import { problem } from './fake-problem.ts';
import type { Seen } from './fake-server.ts';

type Row = Record<string, unknown>;

/** Rows as far as the command-line tool uses them, in memory. A line with a member `bad` is a bad line. */
export interface RowsState {
  rows: Row[];
  /** Answers by Idempotency-Key. */
  answers: Map<string, unknown>;
  /** Columns that must not be given. */
  readOnly: string[];
}

export function newRowsState(): RowsState {
  return {
    rows: [
      { id: '1', name: 'Rex', age: 3 },
      { id: '2', name: null, note: 'second' },
    ],
    answers: new Map(),
    readOnly: [],
  };
}

export function fakeRows(state: RowsState, seen: Seen): Response {
  const [, , , , , below] = seen.path.split('/');
  const dry = seen.query.get('dry_run') === 'true';
  if (below === '_count') return Response.json({ count: state.rows.length });
  switch (seen.method) {
    case 'GET':
      if (below === undefined) return list(state, seen);
      return Response.json(state.rows[0], { headers: { etag: '"v1"' } });
    case 'POST': {
      if (seen.headers.get('content-type') === 'application/json')
        return dry ? plan('rows.insert') : Response.json(JSON.parse(seen.body), { status: 201 });
      return insertLines(state, seen, dry);
    }
    case 'PATCH':
      return dry ? plan('rows.update') : Response.json({ ...state.rows[0], ...JSON.parse(seen.body) });
    default:
      return dry ? plan('rows.delete') : new Response(null, { status: 204 });
  }
}

function list({ rows }: RowsState, { headers, query }: Seen): Response {
  if (headers.get('accept') === 'application/x-ndjson')
    return new Response(rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  const size = Number(query.get('per_page') ?? 50);
  const at = Number(query.get('cursor') ?? 0);
  const end = at + size;
  const more = end < rows.length;
  return Response.json({
    data: rows.slice(at, end),
    page: 1,
    per_page: size,
    has_more: more,
    next_cursor: more ? String(end) : null,
  });
}

function insertLines(state: RowsState, { headers, body }: Seen, dry: boolean): Response {
  const key = headers.get('idempotency-key') ?? '';
  const before = state.answers.get(key);
  if (before !== undefined) return Response.json(before, { status: 201 });
  const rows = body
    .split('\n')
    .filter(Boolean)
    .map((line): Row => JSON.parse(line));
  const errors = rows.flatMap((row, at) => [
    ...state.readOnly
      .filter((column) => column in row)
      .map((column) => ({ line: at + 1, column, code: 'read_only', detail: 'is kept by the service' })),
    ...('bad' in row ? [{ line: at + 1, column: 'bad', code: 'unknown_column', detail: 'is unknown' }] : []),
  ]);
  if (errors.length > 0) return problem('validation_failed', { errors: errors.slice(0, 100) });
  if (dry) return plan('rows.insert');
  state.rows.push(...rows);
  const answer = { inserted: rows.length, ids: rows.map(() => 'x') };
  state.answers.set(key, answer);
  return Response.json(answer, { status: 201 });
}

function plan(operation: string): Response {
  const target = { kind: 'row', id: '', name: 'shop/pets' };
  const changes = [{ path: 'name', before: null, after: 'Rex', effect: 'create' }];
  const rest = { changes, warnings: [], irreversible: false, fingerprint: 'f1f2f3' };
  return Response.json({ dry_run: true, plan: { operation, target, ...rest } });
}
