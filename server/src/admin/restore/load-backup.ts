import { type ClientBase, escapeIdentifier as ident } from 'pg';
import type { ObjectStore } from '../../drivers/object-store/object-store.ts';
import { qualifiedName } from '../backup/archive.ts';
import type { FileEntry } from '../backup/data-files.ts';
import {
  filesFolder,
  type Manifest,
  objectsFolder,
  parseRawPath,
  parseTablePath,
  schemasFolder,
  tableKey,
} from '../backup/manifest.ts';
import { controlSchema, type SchemaDump } from '../backup/snapshot.ts';
import { copyInto, Entries } from './copy-in.ts';
import type { StagedFiles } from './data-dir.ts';
import { loadRawDatabase } from './load-raw-database.ts';
import type { RestoredRawDatabases } from './raw-databases.ts';
import { damagedError } from './tar-reader.ts';
import { type BackupSource, objectKey, readBackup, readWhole } from './verify-backup.ts';

interface Target {
  control: ClientBase;
  apps: ClientBase;
  rowsRole: string;
  files: StagedFiles;
  /** Null: objects are excluded. */
  objects: ObjectStore | null;
  /** Null: raw databases are excluded. */
  raw: RestoredRawDatabases | null;
  note(line: string): void;
}

export async function loadBackup(source: BackupSource, manifest: Manifest, target: Target): Promise<void> {
  const { apps } = target;
  const dumps: SchemaDump[] = [];
  for (const { name, schema } of manifest.extensions) {
    await runStatement(apps, `create extension if not exists ${ident(name)} with schema ${ident(schema)}`);
  }
  const entries = new Entries(readBackup(source));
  try {
    for (let entry = await entries.peek(); entry; entry = await entries.peek()) {
      if (parseTablePath(entry.path)) {
        await loadTable(entries, manifest, target);
        continue;
      }
      if (target.raw && parseRawPath(entry.path)) {
        await loadRawDatabase(entries, target.raw, target.note);
        continue;
      }
      if (entry.path.startsWith(`${schemasFolder}/`)) {
        const dump = JSON.parse((await readWhole(entry.content)).toString()) as SchemaDump;
        for (const statement of dump.beforeRows) await runStatement(apps, statement);
        dumps.push(dump);
      } else if (entry.path.startsWith(`${filesFolder}/`)) await target.files.add(entry);
      else if (target.objects && entry.path.startsWith(`${objectsFolder}/`))
        await target.objects.put(objectKey(entry), chunksOf(entry), { bytesMax: entry.size });
      entries.advance();
    }
  } finally {
    await entries.close();
  }
  await finishSchemas(dumps, target);
  for (const { schema, name, last_value, is_called } of manifest.sequences) {
    const values = [qualifiedName({ schema, name }), last_value, is_called];
    await clientFor(schema, target).query('select pg_catalog.setval($1::regclass, $2, $3)', values);
  }
}

async function* chunksOf({ content }: FileEntry): AsyncGenerator<Uint8Array> {
  yield* content;
}

async function loadTable(entries: Entries, manifest: Manifest, target: Target): Promise<void> {
  const first = parseTablePath((await entries.peek())?.path ?? '');
  const table = first && manifest.tables.find((listed) => tableKey(listed) === tableKey(first));
  if (!table) throw damagedError('a table is not in the manifest');
  const rows = await copyInto(clientFor(table.schema, target), { entries, table, parse: parseTablePath });
  if (rows !== table.rows) throw damagedError(`${tableKey(table)} has ${rows} rows, not ${table.rows}`);
}

async function finishSchemas(dumps: readonly SchemaDump[], { apps, rowsRole }: Target): Promise<void> {
  const { rows } = await apps.query<{ version: number }>(
    `select current_setting('server_version_num')::int as version`,
  );
  // MAINTAIN exists since PostgreSQL 17.
  const isKnown = (statement: string) =>
    (rows[0]?.version ?? 0) >= 170_000 || !/^grant MAINTAIN\b/.test(statement);
  for (const dump of dumps) for (const statement of dump.afterRows) await runStatement(apps, statement);
  for (const dump of dumps) {
    const rights = dump.forRowsRole.map(({ before, after }) => `${before}${ident(rowsRole)}${after}`);
    for (const statement of [...dump.last, ...rights].filter(isKnown)) await runStatement(apps, statement);
  }
}

async function runStatement(client: ClientBase, statement: string): Promise<void> {
  try {
    await client.query(statement);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`The database rejected "${statement}": ${reason}`, { cause });
  }
}

function clientFor(schema: string, { control, apps }: Target): ClientBase {
  return schema === controlSchema ? control : apps;
}
