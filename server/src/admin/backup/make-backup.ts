import { createHash, type Hash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { basename } from 'node:path';
import { formatBytes } from '@svc/cli/output/progress.ts';
import type { ClientBase } from 'pg';
import pg from 'pg';
import packageJson from '../../../package.json';
import { anchorsPath } from '../../core/audit-verify.ts';
import { fail } from '../../core/problem.ts';
import type { ObjectStore } from '../../drivers/object-store/object-store.ts';
import type { BackupPart } from '../command.ts';
import { hasTable, readAppliedMigrations } from '../system.ts';
import { readSequences, schemaEntries, tableEntries, tarBytes, tarEntry, writeArchive } from './archive.ts';
import {
  dataFiles,
  type FileEntry,
  type Handle,
  measureObjects,
  objectEntries,
  readExactly,
} from './data-files.ts';
import { fileHashInput, filesFolder, type Manifest, manifestFormat, manifestPath } from './manifest.ts';
import {
  describeRawDatabase,
  listRawDatabases,
  measureRawDatabases,
  RawDatabaseError,
  type RawDatabaseRef,
  type RawServerAccess,
  rawDatabaseEntries,
} from './raw/raw-entries.ts';
import { controlSchema, isSameDatabase, openSnapshot } from './snapshot.ts';

interface BackupInput {
  controlUrl: string;
  rowsUrl: string;
  dataDatabaseUrl: string | undefined;
  dataDir: string;
  store: ObjectStore;
  rawServer: RawServerAccess | null;
  excluded: readonly BackupPart[];
  file: string;
  encrypt: Parameters<typeof writeArchive>[0]['encrypt'];
  note(line: string): void;
  onInterrupt(undo: () => void): () => void;
}

export async function makeBackup(
  input: BackupInput,
): Promise<{ manifest: Manifest; bytes: number; unreadable: string[] }> {
  // Opened before the snapshot, which then contains every anchored entry.
  const anchors = await openAnchors(input.dataDir);
  const control = await openSnapshot(input.controlUrl);
  try {
    const apps = await openApps(control, input);
    try {
      const manifest = await createManifest(control, apps);
      const unreadable: string[] = [];
      const progress = createProgress(input.note);
      const entries = backupEntries({ ...input, control, apps, anchors, manifest, unreadable, progress });
      return { manifest, bytes: await writeArchive(input, tarBytes(entries)), unreadable };
    } finally {
      if (apps !== control) await apps.end().catch(() => {});
    }
  } finally {
    await control.end().catch(() => {});
    await anchors?.handle.close();
  }
}

type Anchors = { handle: Handle; size: number; modified: Date } | null;

async function openAnchors(dataDir: string): Promise<Anchors> {
  try {
    const handle = await open(anchorsPath(dataDir));
    const { size, mtime } = await handle.stat();
    return { handle, size, modified: mtime };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

async function openApps(control: pg.Client, { dataDatabaseUrl }: BackupInput): Promise<pg.Client> {
  if (!dataDatabaseUrl) return control;
  const apps = await openSnapshot(dataDatabaseUrl);
  if (!(await isSameDatabase(control, apps))) return apps;
  await apps.end().catch(() => {});
  return control;
}

async function createManifest(control: ClientBase, apps: ClientBase): Promise<Manifest> {
  const { rows } = await control.query<{ at: Date; version: string; partitioned: string[] }>(
    `select now() as at, current_setting('server_version') as version, array(
       select c.relname::text from pg_class c join pg_namespace n on n.oid = c.relnamespace
       where n.nspname = $1 and c.relkind = 'p') as partitioned`,
    [controlSchema],
  );
  const migrations = await readAppliedMigrations(control);
  const [facts] = rows;
  if (!facts || migrations.length === 0) {
    throw fail('invalid_state_transition', { detail: 'Nothing to back up: the database is empty.' });
  }
  if (facts.partitioned.length > 0)
    throw new Error(`Partitioned tables are not supported: ${facts.partitioned}.`);
  const extensions = await apps.query<{ name: string; schema: string }>(
    `select e.extname as name, n.nspname as schema from pg_extension e join pg_namespace n on n.oid = e.extnamespace
     where e.extname <> 'plpgsql' order by 1`,
  );
  return {
    format: manifestFormat,
    created_at: facts.at.toISOString(),
    product_version: packageJson.version,
    postgres_version: facts.version,
    migrations,
    extensions: extensions.rows,
    tables: [],
    sequences: [],
    schemas: [],
    files: { count: 0, bytes: 0, sha256: '' },
    objects: { count: 0, bytes: 0, sha256: createHash('sha256').digest('hex') },
    raw_databases: [],
    left_out: [],
    master_key: await findMasterKey(control),
  };
}

async function findMasterKey(control: ClientBase): Promise<string | null> {
  if (!(await hasTable(control, 'svc.key_generations'))) return null;
  const { rows } = await control.query<{ id: string }>(
    'select master_key as id from svc.key_generations where master_key is not null limit 1',
  );
  return rows[0]?.id ?? null;
}

interface Sources extends BackupInput {
  control: ClientBase;
  apps: ClientBase;
  anchors: Anchors;
  manifest: Manifest;
  unreadable: string[];
  progress(bytes: number): void;
}

const progressMsMin = 10_000;

function createProgress(note: (line: string) => void): (bytes: number) => void {
  let read = 0;
  let notedAt = performance.now();
  return (bytes) => {
    read += bytes;
    if (performance.now() - notedAt < progressMsMin) return;
    notedAt = performance.now();
    note(`Read ${formatBytes(read)} so far.`);
  };
}

async function* backupEntries(sources: Sources): AsyncGenerator<FileEntry> {
  const { control, apps, manifest } = sources;
  const at = new Date(manifest.created_at);
  const rowsRole = new pg.Client({ connectionString: sources.rowsUrl }).user ?? '';
  const isControl = ({ schema }: { schema: string }) => schema === controlSchema;
  const isApp = ({ schema }: { schema: string }) => schema.startsWith('app_');
  yield* schemaEntries(apps, { rowsRole, at, manifest });
  yield* withProgress(tableEntries(control, { includes: isControl, at, manifest }), sources);
  yield* withProgress(tableEntries(apps, { includes: isApp, at, manifest }), sources);
  manifest.sequences.push(
    ...(await readSequences(control, isControl)),
    ...(await readSequences(apps, isApp)),
  );
  const bytes = manifest.tables.reduce((sum, table) => sum + table.bytes, 0);
  sources.note(`Tables: ${manifest.tables.length}, ${formatBytes(bytes)}.`);
  const databases = await listRawDatabases(control);
  // A snapshot that stays open while objects are read would hold back VACUUM.
  for (const client of new Set([control, apps])) await client.query('rollback');
  yield* rawEntries(sources, databases);
  // Objects and files come last: they exist before the rows that name them.
  yield* storedObjects(sources);
  yield* fileEntries(sources);
  yield tarEntry(manifestPath, Buffer.from(`${JSON.stringify(manifest, null, 1)}\n`), at);
}

async function* withProgress(
  entries: AsyncIterable<FileEntry>,
  { progress }: Sources,
): AsyncGenerator<FileEntry> {
  for await (const entry of entries) {
    progress(entry.size);
    yield entry;
  }
}

async function* rawEntries(
  sources: Sources,
  databases: readonly RawDatabaseRef[],
): AsyncGenerator<FileEntry> {
  const { manifest, rawServer: server, note } = sources;
  const sizes = await measureRawDatabases(server, databases);
  for (const ref of databases) {
    const described = describeRawDatabase(ref, sizes.get(ref.database));
    if (sources.excluded.includes('raw-databases')) {
      manifest.left_out.push(`${described}, because of --exclude raw-databases`);
      continue;
    }
    try {
      if (!server) throw new RawDatabaseError('its server does not exist');
      yield* rawDatabaseEntries(ref, {
        server,
        at: new Date(manifest.created_at),
        manifest,
        progress: sources.progress,
      });
      note(`Raw database of app ${ref.app}: ${formatBytes(manifest.raw_databases.at(-1)?.bytes ?? 0)}.`);
    } catch (error) {
      if (!(error instanceof RawDatabaseError)) throw error;
      const problem = `${described}, which cannot be read: ${error.message}`;
      manifest.left_out.push(problem);
      sources.unreadable.push(problem);
    }
  }
}

async function* storedObjects({
  store,
  manifest,
  excluded,
  note,
  progress,
}: Sources): AsyncGenerator<FileEntry> {
  if (!excluded.includes('objects')) {
    yield* objectEntries(store, { manifest, progress });
    return note(`Objects: ${manifest.objects.count}, ${formatBytes(manifest.objects.bytes)}.`);
  }
  const found = await measureObjects(store).catch(() => null);
  const what = found ? `${found.count} objects (${formatBytes(found.bytes)})` : 'objects of an unknown size';
  if (found?.count !== 0) manifest.left_out.push(`${what}, because of --exclude objects`);
}

async function* fileEntries({ dataDir, anchors, manifest, progress }: Sources): AsyncGenerator<FileEntry> {
  const hash = createHash('sha256');
  const onSkipped = (path: string, why: string) => {
    manifest.left_out.push(`${path} in the data dir (${why})`);
  };
  for await (const found of dataFiles(dataDir, onSkipped)) {
    const isAnchors = found.path === basename(anchorsPath(dataDir));
    // A file created after the snapshot may contain entries that the snapshot lacks.
    if (isAnchors && !anchors) continue;
    const file = isAnchors && anchors ? asOfSnapshot(found, anchors) : found;
    hash.update(fileHashInput(file));
    manifest.files.count += file.kind === 'file' ? 1 : 0;
    manifest.files.bytes += file.size;
    progress(file.size);
    yield { ...inArchive(file), content: hashContent(file.content, hash) };
  }
  manifest.files.sha256 = hash.digest('hex');
}

function inArchive(file: FileEntry): FileEntry {
  const path = `${filesFolder}/${file.path}`;
  return file.kind === 'hard_link'
    ? { ...file, path, target: `${filesFolder}/${file.target}` }
    : { ...file, path };
}

function asOfSnapshot(file: FileEntry, { handle, size, modified }: NonNullable<Anchors>): FileEntry {
  return { ...file, size, modified, content: readExactly(handle, size) };
}

async function* hashContent(content: FileEntry['content'], hash: Hash): AsyncGenerator<Uint8Array> {
  for await (const chunk of content) {
    hash.update(chunk);
    yield chunk;
  }
}
