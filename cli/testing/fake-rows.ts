import { previewOf, problem, type Seen } from './answers.ts';

type Row = Record<string, unknown>;
type RowsState = ReturnType<typeof newRowsState>;

export function newRowsState() {
  return {
    rows: [
      { id: '1', name: 'Rex', age: 3 },
      { id: '2', name: null, note: 'second' },
    ] as Row[],
    /** Answers by Idempotency-Key. */
    answers: new Map<string, unknown>(),
    readOnly: [] as string[],
  };
}

/** The row API as far as the command-line tool uses it, in memory. A line with a member `bad` is invalid. */
export function fakeRows(state: RowsState, seen: Seen): Response {
  const below = seen.path.replace('/_connectors/', '/').split('/')[
    seen.path.includes('/_connectors/') ? 6 : 5
  ];
  const isDry = seen.query.get('dry_run') === 'true';
  const plan = (operation: string) => Response.json(previewOf(operation));
  if (seen.path.endsWith('/_batch'))
    return isDry
      ? plan('rows.batch')
      : Response.json({ results: [{ op: 'insert', status: 201, id: '1', row: state.rows[0] }] });
  if (below === undefined && seen.method === 'PATCH')
    return isDry ? plan('rows.updateMany') : Response.json({ updated: 1, ids: ['1'] });
  if (below === undefined && seen.method === 'DELETE')
    return isDry ? plan('rows.deleteMany') : Response.json({ deleted: 1, ids: ['1'] });
  if (below === '_aggregate')
    return Response.json({ data: [{ n: 2 }], page: 1, per_page: 1000, has_more: false, next_cursor: null });
  if (below === '_trash' || seen.path.endsWith('/_history')) {
    const entry = { version: '1', action: 'delete', at: '2026-01-31T00:00:00Z', by: null, request_id: null };
    const data = [{ ...entry, before: state.rows[0], row: null }];
    return Response.json({ data, page: 1, per_page: 50, has_more: false });
  }
  if (seen.path.endsWith('/_restore'))
    return isDry ? plan('rows.restore') : Response.json({ restored: 1, ids: ['1'] });
  if (below === '_changes')
    return new Response(`event: insert\nid: a1\ndata: ${JSON.stringify(state.rows[0])}\n\n`, {
      headers: { 'content-type': 'text/event-stream' },
    });
  if (below === '_files') {
    const { name, type, size } = JSON.parse(seen.body);
    const signed = {
      put_url: `http://${seen.headers.get('host')}/objects/a-token/name`,
      headers: { 'content-type': type },
    };
    return Response.json({ file: { id: 'f1', name, type, size }, ...signed }, { status: 201 });
  }
  if (seen.path.includes('/_files/')) return new Response('a file');
  if (below === '_count') return Response.json({ count: state.rows.length });
  switch (seen.method) {
    case 'GET':
      if (below === undefined) return list(state, seen);
      return Response.json(state.rows[0], { headers: { etag: '"v1"' } });
    case 'POST':
      if (seen.headers.get('content-type') !== 'application/json') return insertLines(state, seen, isDry);
      return isDry ? plan('rows.insert') : Response.json(JSON.parse(seen.body), { status: 201 });
    case 'PATCH':
      return isDry ? plan('rows.update') : Response.json({ ...state.rows[0], ...JSON.parse(seen.body) });
    default:
      return isDry ? plan('rows.delete') : new Response(null, { status: 204 });
  }
}

function list({ rows }: RowsState, { headers, query }: Seen): Response {
  if (headers.get('accept') === 'application/x-ndjson')
    return new Response(rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  const per_page = Number(query.get('per_page') ?? 50);
  const start = Number(query.get('cursor') ?? 0);
  const end = start + per_page;
  const has_more = end < rows.length;
  const next_cursor = has_more ? String(end) : null;
  return Response.json({ data: rows.slice(start, end), page: 1, per_page, has_more, next_cursor });
}

function insertLines(state: RowsState, { headers, body }: Seen, isDry: boolean): Response {
  const key = headers.get('idempotency-key') ?? '';
  const before = state.answers.get(key);
  if (before !== undefined) return Response.json(before, { status: 201 });
  const rows: Row[] = body
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
  const errors = rows.flatMap((row, at) => [
    ...state.readOnly
      .filter((column) => column in row)
      .map((column) => ({ line: at + 1, column, code: 'read_only', detail: 'is kept by the service' })),
    ...('bad' in row ? [{ line: at + 1, column: 'bad', code: 'unknown_column', detail: 'is unknown' }] : []),
  ]);
  if (errors.length > 0) return problem('validation_failed', { errors: errors.slice(0, 100) });
  if (isDry) return Response.json(previewOf('rows.insert'));
  state.rows.push(...rows);
  const answer = { inserted: rows.length, ids: rows.map(() => 'x') };
  state.answers.set(key, answer);
  return Response.json(answer, { status: 201 });
}
