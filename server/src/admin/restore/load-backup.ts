import { once } from 'node:events';
import { type ClientBase, type Connection, escapeIdentifier as ident } from 'pg';
import { qualifiedName } from '../backup/archive.ts';
import { CopyQuery } from '../backup/copy-out.ts';
import type { FileEntry } from '../backup/data-files.ts';
import { filesFolder, type Manifest, parseTablePath, schemasFolder, tableKey } from '../backup/manifest.ts';
import { controlSchema, type SchemaDump } from '../backup/snapshot.ts';
import type { StagedFiles } from './data-dir.ts';
import { damagedError } from './tar-reader.ts';
import { type BackupSource, readBackup, readWhole } from './verify-backup.ts';

interface Target {
  control: ClientBase;
  apps: ClientBase;
  rowsRole: string;
  files: StagedFiles;
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
      if (entry.path.startsWith(`${schemasFolder}/`)) {
        const dump = JSON.parse((await readWhole(entry.content)).toString()) as SchemaDump;
        for (const statement of dump.beforeRows) await runStatement(apps, statement);
        dumps.push(dump);
      } else if (entry.path.startsWith(`${filesFolder}/`)) await target.files.add(entry);
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

async function loadTable(entries: Entries, manifest: Manifest, target: Target): Promise<void> {
  const first = parseTablePath((await entries.peek())?.path ?? '');
  const table = first && manifest.tables.find((listed) => tableKey(listed) === tableKey(first));
  if (!table) throw damagedError('a table is not in the manifest');
  async function* pieces() {
    for (let entry = await entries.peek(); entry; entry = await entries.peek()) {
      const of = parseTablePath(entry.path);
      if (!of || !table || tableKey(of) !== tableKey(table)) return;
      yield* entry.content;
      entries.advance();
    }
  }
  const sql = `copy ${qualifiedName(table)} (${table.columns.map(ident).join(', ')}) from stdin`;
  const query = clientFor(table.schema, target).query(new CopyInQuery(sql, pieces()));
  const rows = await query.done;
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

class Entries {
  readonly #source: AsyncGenerator<FileEntry>;
  #ahead: Promise<FileEntry | null> | null = null;

  constructor(source: AsyncGenerator<FileEntry>) {
    this.#source = source;
  }

  peek(): Promise<FileEntry | null> {
    this.#ahead ??= this.#source.next().then((next) => (next.done ? null : next.value));
    return this.#ahead;
  }

  advance(): void {
    this.#ahead = null;
  }

  async close(): Promise<void> {
    await this.#source.return(undefined);
  }
}

type CopyConnection = Connection & {
  sendCopyFromChunk(chunk: Uint8Array): void;
  endCopyFrom(): void;
  sendCopyFail(reason: string): void;
};

class CopyInQuery extends CopyQuery {
  readonly #result = Promise.withResolvers<number>();
  readonly done = this.#result.promise;
  readonly #pieces: AsyncIterable<Uint8Array>;
  #sourceError: Error | null = null;
  #ended = false;

  constructor(sql: string, pieces: AsyncIterable<Uint8Array>) {
    super(sql);
    this.#pieces = pieces;
  }

  handleCopyInResponse(connection: CopyConnection): void {
    this.#send(connection).catch((error: unknown) => {
      this.#sourceError = error instanceof Error ? error : new Error(String(error));
      connection.sendCopyFail('The rows could not be read.');
    });
  }

  handleReadyForQuery(): void {
    this.#ended = true;
    this.#result.resolve(this.rows);
  }

  handleError(error: Error): void {
    this.#ended = true;
    this.#result.reject(this.#sourceError ?? error);
  }

  async #send(connection: CopyConnection): Promise<void> {
    for await (const piece of this.#pieces) {
      if (this.#ended) return;
      connection.sendCopyFromChunk(piece);
      if (!connection.stream.writableNeedDrain) continue;
      // A lost connection never drains.
      await Promise.race([once(connection.stream, 'drain'), this.done.catch(() => {})]);
    }
    if (!this.#ended) connection.endCopyFrom();
  }
}
