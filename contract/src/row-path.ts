/** A leading `_` is encoded, because `_count` is a path of the API and the server compares the path as sent. */
export function rowSegment(id: string): string {
  return encodeURIComponent(id).replace(/^_/, '%5F');
}

/** URL parsers remove `.` and `..` from a path, also percent-encoded. */
export function isRowSegment(id: string): boolean {
  return !['', '.', '..'].includes(id);
}

export function appPath(tenant: string, app: string): string {
  return `/data/${[tenant, app].map(encodeURIComponent).join('/')}`;
}

export function tablePath(tenant: string, app: string, table: string): string {
  return `/data/${[tenant, app, table].map(encodeURIComponent).join('/')}`;
}

/** `path` is `schema/table`. */
export function connectorTablePath(tenant: string, connector: string, path: string): string {
  const [schema = '', ...table] = path.split('/');
  return `/data/${[tenant, '_connectors', connector, schema, table.join('/')].map(encodeURIComponent).join('/')}`;
}

export function rowPath(tenant: string, app: string, table: string, id: string): string {
  return `${tablePath(tenant, app, table)}/${rowSegment(id)}`;
}
