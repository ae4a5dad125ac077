import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { FileEntry } from './data-files.ts';
import { damagedError } from './tar-reader.ts';

export const manifestFormat = 2;
export const manifestPath = 'manifest.json';

export function tablePath(table: { schema: string; name: string }, piece: number): string {
  const folder = `tables/${encodeURIComponent(table.schema)}/${encodeURIComponent(table.name)}`;
  return `${folder}/${String(piece).padStart(6, '0')}.copy`;
}

export function parseTablePath(path: string): { schema: string; name: string; piece: number } | null {
  const [, schema, name, piece] = /^tables\/([^/]+)\/([^/]+)\/(\d{6,})\.copy$/.exec(path) ?? [];
  if (schema === undefined || name === undefined) return null;
  return { schema: decodeURIComponent(schema), name: decodeURIComponent(name), piece: Number(piece) };
}

export const schemasFolder = 'schemas';
export const filesFolder = 'files';
export const objectsFolder = 'objects';

export function rawPath(database: string, inside: string): string {
  return `raw/${database}/${inside}`;
}

export function parseRawPath(path: string): { database: string; inside: string } | null {
  const [, database, inside] = /^raw\/(svc_raw_[0-9a-f]{32})\/(.+)$/.exec(path) ?? [];
  return database !== undefined && inside !== undefined ? { database, inside } : null;
}

export function schemaPath(schema: string): string {
  return `${schemasFolder}/${encodeURIComponent(schema)}.json`;
}

export function fileHashInput(file: Pick<FileEntry, 'path' | 'kind' | 'mode' | 'size' | 'target'>): string {
  const { path, kind, mode, size, target } = file;
  return `${JSON.stringify([path, kind, mode & 0o777, size, ...(target === undefined ? [] : [target])])}\n`;
}

export function tableKey(table: { schema: string; name: string }): string {
  return `${table.schema}.${table.name}`;
}

const namedShape = z.object({ schema: z.string(), name: z.string() });
const countShape = z.int().nonnegative();
const filesShape = z.object({ count: countShape, bytes: countShape, sha256: z.string() });
const emptySha256 = createHash('sha256').digest('hex');
const manifestShape = z.object({
  format: z.union([z.literal(1), z.literal(manifestFormat)]),
  created_at: z.string(),
  product_version: z.string(),
  postgres_version: z.string(),
  migrations: z.array(z.object({ name: z.string(), checksum: z.string() })).min(1),
  extensions: z.array(namedShape),
  tables: z.array(
    namedShape.extend({
      columns: z.array(z.string()),
      rows: countShape,
      bytes: countShape,
      sha256: z.string(),
    }),
  ),
  sequences: z.array(namedShape.extend({ last_value: z.string().regex(/^-?\d+$/), is_called: z.boolean() })),
  schemas: z.array(z.object({ name: z.string().startsWith('app_'), sha256: z.string() })),
  files: filesShape,
  objects: filesShape.default({ count: 0, bytes: 0, sha256: emptySha256 }),
  raw_databases: z
    .array(
      z.object({
        database: z.string().regex(/^svc_raw_[0-9a-f]{32}$/),
        app: z.string(),
        tables: countShape,
        rows: countShape,
        bytes: countShape,
        sha256: z.string(),
      }),
    )
    .default([]),
  left_out: z.array(z.string()),
  master_key: z.string().nullable().default(null),
});

export type Manifest = z.output<typeof manifestShape>;

export function parseManifest(text: Buffer): Manifest {
  const value = parseJson(text);
  const format = typeof value === 'object' && value !== null && 'format' in value ? value.format : undefined;
  if (typeof format === 'number' && format > manifestFormat) {
    throw damagedError(`its format ${format} is newer than this version`);
  }
  const parsed = manifestShape.safeParse(value);
  if (!parsed.success) throw damagedError('its manifest is invalid');
  return parsed.data;
}

function parseJson(text: Buffer): unknown {
  try {
    return JSON.parse(text.toString());
  } catch {
    throw damagedError('its manifest is invalid');
  }
}
