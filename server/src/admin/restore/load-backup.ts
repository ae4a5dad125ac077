import {
  chmodSync,
  linkSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type ClientBase, escapeIdentifier as ident } from 'pg';
import type { ObjectStore } from '../../drivers/object-store/object-store.ts';
import { syncToDisk } from '../../drivers/os/files.ts';
import { qualifiedName } from '../backup/archive.ts';
import { type FileEntry, isBackedUp } from '../backup/data-files.ts';
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
import { damagedError } from '../backup/tar-reader.ts';
import { copyInto, Entries } from './copy-in.ts';
import { loadRawDatabase, type RestoredRawDatabases } from './raw-databases.ts';
import {
  type BackupSource,
  createLinkCheck,
  dataEntry,
  objectKey,
  readBackup,
  readWhole,
} from './verify-backup.ts';

export type StagedFiles = ReturnType<typeof stageFiles>;

export function stageFiles(dataDir: string, now: Date) {
  mkdirSync(dataDir, { recursive: true });
  for (const name of readdirSync(dataDir).filter((name) => name.startsWith('restoring-'))) {
    rmSync(join(dataDir, name), { recursive: true, force: true });
  }
  const folder = join(dataDir, `restoring-${process.pid}`);
  mkdirSync(folder, { mode: 0o700 });
  const checkLinks = createLinkCheck();
  const folders: { path: string; mode: number; modified: Date }[] = [];
  return {
    folder,
    async add(entry: FileEntry): Promise<void> {
      const { path: inside, target = '', ...facts } = checkLinks(dataEntry(entry));
      const path = join(folder, inside);
      mkdirSync(facts.kind === 'folder' ? path : dirname(path), { recursive: true, mode: 0o700 });
      if (facts.kind === 'folder') folders.push({ path, mode: facts.mode, modified: facts.modified });
      else if (facts.kind === 'link') symlinkSync(target, path);
      else if (facts.kind === 'hard_link') linkSync(join(folder, target), path);
      else await writeFile(path, entry);
    },
    exchange: (keeps: (name: string) => boolean) => {
      // Last, because the mode may forbid to write into the folder.
      for (const { path, mode, modified } of folders.reverse()) {
        chmodSync(path, mode & 0o777);
        utimesSync(path, modified, modified);
      }
      const replaced = join(dataDir, `replaced-${now.toISOString().replaceAll(':', '-')}`);
      return exchange(dataDir, { staged: folder, replaced, keeps });
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

async function writeFile(path: string, entry: FileEntry): Promise<void> {
  const handle = await open(path, 'wx', entry.mode & 0o777);
  try {
    for await (const chunk of entry.content) await handle.writeFile(chunk);
    await handle.chmod(entry.mode & 0o777);
    await handle.utimes(entry.modified, entry.modified);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Deletes nothing, so that a restore into the wrong folder can be undone. */
function exchange(
  dataDir: string,
  { staged, replaced, keeps }: { staged: string; replaced: string; keeps(name: string): boolean },
): { undo(): void; previousIn: string | null } {
  const moved: [string, string][] = [];
  const move = (from: string, to: string) => {
    renameSync(from, to);
    moved.push([from, to]);
  };
  const undo = () => {
    for (const [from, to] of moved.splice(0).reverse()) renameSync(to, from);
    rmSync(replaced, { recursive: true, force: true });
  };
  try {
    const added = readdirSync(staged);
    const present = readdirSync(dataDir).filter(
      (name) => isBackedUp(name) && (added.includes(name) || !keeps(name)),
    );
    if (present.length > 0) mkdirSync(replaced, { mode: 0o700 });
    for (const name of present) move(join(dataDir, name), join(replaced, name));
    for (const name of added) move(join(staged, name), join(dataDir, name));
    syncToDisk(dataDir);
    return { undo, previousIn: present.length > 0 ? replaced : null };
  } catch (error) {
    undo();
    throw error;
  }
}

interface Target {
  control: ClientBase;
  apps: ClientBase;
  rowsRole: string;
  files: StagedFiles;
  objects: ObjectStore | null;
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
