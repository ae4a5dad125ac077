import { createHash } from 'node:crypto';
import { type ClientBase, escapeIdentifier as ident } from 'pg';
import { copyOut } from './copy-out.ts';
import { dumpSchema } from './dump-schema.ts';
import { type Manifest, type ManifestTable, schemaPath, tablePath } from './manifest.ts';
import { listAppSchemas, listTables, type TableFacts } from './snapshot.ts';
import type { TarEntry } from './tar-writer.ts';

export function entryOf(path: string, content: Uint8Array, modified: Date): TarEntry {
  return { path, kind: 'file', mode: 0o600, modified, size: content.byteLength, content: [content] };
}

/** One entry per schema of an app; what they add to the manifest is known when they have been read. */
export async function* schemaEntries(
  client: ClientBase,
  { rowsRole, at, manifest }: { rowsRole: string; at: Date; manifest: Manifest },
): AsyncGenerator<TarEntry> {
  for (const schema of await listAppSchemas(client)) {
    const { dump, leftOut } = await dumpSchema(client, { schema, rowsRole });
    const text = Buffer.from(`${JSON.stringify(dump, null, 1)}\n`);
    manifest.schemas.push({ name: schema, sha256: createHash('sha256').update(text).digest('hex') });
    manifest.left_out.push(...leftOut);
    yield entryOf(schemaPath(schema), text, at);
  }
}

export async function* tableEntries(
  client: ClientBase,
  { isWanted, at, manifest }: { isWanted: (table: TableFacts) => boolean; at: Date; manifest: Manifest },
): AsyncGenerator<TarEntry> {
  for (const table of (await listTables(client)).filter(isWanted)) {
    const sum = createHash('sha256');
    const copy = copyOut(client, `copy ${nameOf(table)} (${table.columns.map(ident).join(', ')}) to stdout`);
    let bytes = 0;
    let piece = 0;
    for await (const part of copy) {
      sum.update(part);
      bytes += part.length;
      yield entryOf(tablePath(table, piece++), part, at);
    }
    const entry: ManifestTable = { ...table, rows: copy.rows(), bytes, sha256: sum.digest('hex') };
    manifest.tables.push(entry);
  }
}

export async function readSequences(
  client: ClientBase,
  isWanted: (schema: string) => boolean,
): Promise<Manifest['sequences']> {
  const { rows } = await client.query<{ schema: string; name: string }>(
    `select n.nspname as schema, c.relname as name
     from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.relkind = 'S' order by 1, 2`,
  );
  const found: Manifest['sequences'] = [];
  for (const sequence of rows.filter((row) => isWanted(row.schema))) {
    const state = await client.query<{ last_value: string; is_called: boolean }>(
      `select last_value::text, is_called from ${nameOf(sequence)}`,
    );
    const [{ last_value, is_called } = { last_value: '1', is_called: false }] = state.rows;
    found.push({ ...sequence, last_value, is_called });
  }
  return found;
}

function nameOf(thing: { schema: string; name: string }): string {
  return `${ident(thing.schema)}.${ident(thing.name)}`;
}
