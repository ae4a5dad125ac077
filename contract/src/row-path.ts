/**
 * An id as a step of a path. Its first `_` is encoded, since what begins with one is an address of ours (`_count`), and
 * the server looks at the path as it was sent.
 */
export function rowSegment(id: string): string {
  return encodeURIComponent(id).replace(/^_/, '%5F');
}

/** Whether an address can end in it: these few are taken out of one on the way, however they are encoded. */
export function isRowSegment(id: string): boolean {
  return !['', '.', '..'].includes(id);
}

export function tablePath(tenant: string, app: string, table: string): string {
  return `/data/${[tenant, app, table].map(encodeURIComponent).join('/')}`;
}

export function rowPath(tenant: string, app: string, table: string, id: string): string {
  return `${tablePath(tenant, app, table)}/${rowSegment(id)}`;
}
