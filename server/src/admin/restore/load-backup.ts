import { type ClientBase, escapeIdentifier as ident } from 'pg';
import type { SchemaDump } from '../backup/dump-schema.ts';
import { filesFolder, type Manifest, schemasFolder, tableKey, tableOfPath } from '../backup/manifest.ts';
import { controlSchema } from '../backup/snapshot.ts';
import { copyIn } from './copy-in.ts';
import type { StagedFiles } from './data-dir.ts';
import { readBackup, readWhole } from './read-backup.ts';
import { damaged, type ReadEntry } from './tar-reader.ts';

export interface Target {
  control: ClientBase;
  apps: ClientBase;
  rowsRole: string;
  files: StagedFiles;
}

/** Puts a verified backup into prepared schemas. Each table is one statement, so that it may refer to itself. */
export async function loadBackup(file: string, manifest: Manifest, target: Target): Promise<void> {
  const { apps } = target;
  const dumps: SchemaDump[] = [];
  for (const { name, schema } of manifest.extensions) {
    await runStatement(apps, `create extension if not exists ${ident(name)} with schema ${ident(schema)}`);
  }
  const entries = new Entries(readBackup(file));
  try {
    for (let entry = await entries.peek(); entry; entry = await entries.peek()) {
      if (tableOfPath(entry.path)) {
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
    await clientOf(schema, target).query('select pg_catalog.setval($1::regclass, $2, $3)', [
      `${ident(schema)}.${ident(name)}`,
      last_value,
      is_called,
    ]);
  }
}

async function loadTable(entries: Entries, manifest: Manifest, target: Target): Promise<void> {
  const first = tableOfPath((await entries.peek())?.path ?? '');
  const table = first && manifest.tables.find((listed) => tableKey(listed) === tableKey(first));
  if (!table) throw damaged('a table is not in its list');
  async function* pieces() {
    for (let entry = await entries.peek(); entry; entry = await entries.peek()) {
      const of = tableOfPath(entry.path);
      if (!of || !table || tableKey(of) !== tableKey(table)) return;
      yield* entry.content;
      entries.advance();
    }
  }
  const name = `${ident(table.schema)}.${ident(table.name)}`;
  const sql = `copy ${name} (${table.columns.map(ident).join(', ')}) from stdin`;
  const rows = await copyIn(clientOf(table.schema, target), sql, pieces());
  if (rows !== table.rows) throw damaged(`${tableKey(table)} has ${rows} rows, not ${table.rows}`);
}

async function finishSchemas(dumps: readonly SchemaDump[], { apps, rowsRole }: Target): Promise<void> {
  const { rows } = await apps.query<{ version: number }>(
    `select current_setting('server_version_num')::int as version`,
  );
  // A right that came with PostgreSQL 17 and is part of "all".
  const isKnown = (statement: string) =>
    (rows[0]?.version ?? 0) >= 170_000 || !/^grant MAINTAIN\b/.test(statement);
  for (const dump of dumps) for (const statement of dump.afterRows) await runStatement(apps, statement);
  for (const dump of dumps) {
    const rights = dump.forRowsRole.map(({ before, after }) => `${before}${ident(rowsRole)}${after}`);
    for (const statement of [...dump.last, ...rights].filter(isKnown)) await runStatement(apps, statement);
  }
}

/** These come from another database and perhaps another version of it: an error should say which one fails. */
async function runStatement(client: ClientBase, statement: string): Promise<void> {
  try {
    await client.query(statement);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`The database refuses "${statement}": ${reason}`, { cause });
  }
}

function clientOf(schema: string, { control, apps }: Target): ClientBase {
  return schema === controlSchema ? control : apps;
}

/** One entry ahead, to see where a table ends. */
class Entries {
  readonly #source: AsyncGenerator<ReadEntry>;
  #ahead: Promise<ReadEntry | null> | null = null;

  constructor(source: AsyncGenerator<ReadEntry>) {
    this.#source = source;
  }

  peek(): Promise<ReadEntry | null> {
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
