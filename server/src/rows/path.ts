/** `/data/{tenant}/{app}/{table}` and what may follow. */
export interface RowsPath {
  tenant: string;
  app: string;
  table: string;
  /** Up to the table, as it was sent. */
  tablePath: string;
  rest: { kind: 'table' } | { kind: 'count' } | { kind: 'row'; id: string };
}

/** Null: no path of the row API. */
export function pathOf(path: string): RowsPath | 'malformed' | null {
  const [, , tenant = '', app = '', table = '', last, ...more] = path.split('/');
  if (tenant === '' || app === '' || table === '' || more.length > 0) return null;
  const names = [tenant, app, table].map(decoded);
  const [tenantName, appName, tableName] = names;
  if (!tenantName || !appName || !tableName) return 'malformed';
  const place = { tenant: tenantName, app: appName, table: tableName };
  const tablePath = `/data/${tenant}/${app}/${table}`;
  if (last === undefined) return { ...place, tablePath, rest: { kind: 'table' } };
  // As it was sent: a text id `_count` is written `%5Fcount`.
  if (last === '_count') return { ...place, tablePath, rest: { kind: 'count' } };
  const id = decoded(last);
  if (id === null) return 'malformed';
  return id === '' ? null : { ...place, tablePath, rest: { kind: 'row', id } };
}

function decoded(segment: string): string | null {
  if (!segment.includes('%')) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return null;
  }
}
