/** What a backup says about itself; the last entry of the archive, since it holds sums over all others. */
export interface Manifest {
  format: typeof manifestFormat;
  created_at: string;
  product_version: string;
  postgres_version: string;
  migrations: { name: string; checksum: string }[];
  extensions: { name: string; schema: string }[];
  tables: ManifestTable[];
  sequences: { schema: string; name: string; last_value: string; is_called: boolean }[];
  /** Schemas of apps, each described by an entry of its own with this sum. */
  schemas: { name: string; sha256: string }[];
  files: { count: number; bytes: number; sha256: string };
  /** What was found and is not in the backup. */
  left_out: string[];
}

export interface ManifestTable {
  schema: string;
  name: string;
  columns: string[];
  rows: number;
  bytes: number;
  sha256: string;
}

/** Raised when an older version could not read what is written. */
export const manifestFormat = 1;
export const manifestPath = 'manifest.json';

/** A table is cut into pieces, because an entry of an archive begins with its length. */
export function tablePath(table: { schema: string; name: string }, piece: number): string {
  const folder = `tables/${encodeURIComponent(table.schema)}/${encodeURIComponent(table.name)}`;
  return `${folder}/${String(piece).padStart(6, '0')}.copy`;
}

export function tableOfPath(path: string): { schema: string; name: string; piece: number } | null {
  const [, schema, name, piece] = /^tables\/([^/]+)\/([^/]+)\/(\d{6,})\.copy$/.exec(path) ?? [];
  if (schema === undefined || name === undefined) return null;
  return { schema: decodeURIComponent(schema), name: decodeURIComponent(name), piece: Number(piece) };
}

export const schemasFolder = 'schemas';
export const filesFolder = 'files';

export function schemaPath(schema: string): string {
  return `${schemasFolder}/${encodeURIComponent(schema)}.json`;
}

/** What is summed of a file besides its bytes. */
export function fileFacts(file: { path: string; kind: string; mode: number; size: number }): string {
  return `${JSON.stringify([file.path, file.kind, file.mode & 0o777, file.size])}\n`;
}

export function tableKey(table: { schema: string; name: string }): string {
  return `${table.schema}.${table.name}`;
}
