import { createHash, type Hash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { basename } from 'node:path';
import pg, { type ClientBase } from 'pg';
import packageJson from '../../../package.json' with { type: 'json' };
import { anchorsPath } from '../../core/audit-verify.ts';
import { fail } from '../../core/problem.ts';
import { hasTable, readAppliedMigrations } from '../system.ts';
import { readSequences, schemaEntries, tableEntries, tarBytes, tarEntry, writeArchive } from './archive.ts';
import { dataFiles, type FileEntry, type Handle, readExactly } from './data-files.ts';
import { fileHashInput, filesFolder, type Manifest, manifestFormat, manifestPath } from './manifest.ts';
import { controlSchema, isSameDatabase, openSnapshot } from './snapshot.ts';

interface BackupInput {
  controlUrl: string;
  rowsUrl: string;
  dataDatabaseUrl: string | undefined;
  dataDir: string;
  file: string;
  encrypt: Parameters<typeof writeArchive>[0]['encrypt'];
  elsewhere: readonly string[];
  note(line: string): void;
  onInterrupt(undo: () => void): () => void;
}

export async function makeBackup(input: BackupInput): Promise<{ manifest: Manifest; bytes: number }> {
  // Opened before the snapshot, which then contains every anchored entry.
  const anchors = await openAnchors(input.dataDir);
  const control = await openSnapshot(input.controlUrl);
  try {
    const apps = await openApps(control, input);
    try {
      const manifest = await createManifest(control, apps);
      manifest.left_out.push(...input.elsewhere);
      const entries = backupEntries({ ...input, control, apps, anchors, manifest });
      return { manifest, bytes: await writeArchive(input, tarBytes(entries)) };
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

/** `control` itself if the tables of apps are in the same database. */
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
    left_out: [],
    master_key: await findMasterKey(control),
  };
}

/** The id of the master key that the stored keys are encrypted with. */
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
}

async function* backupEntries(sources: Sources): AsyncGenerator<FileEntry> {
  const { control, apps, manifest } = sources;
  const at = new Date(manifest.created_at);
  const rowsRole = new pg.Client({ connectionString: sources.rowsUrl }).user ?? '';
  const isControl = ({ schema }: { schema: string }) => schema === controlSchema;
  const isApp = ({ schema }: { schema: string }) => schema.startsWith('app_');
  yield* schemaEntries(apps, { rowsRole, at, manifest });
  yield* tableEntries(control, { includes: isControl, at, manifest });
  yield* tableEntries(apps, { includes: isApp, at, manifest });
  manifest.sequences.push(
    ...(await readSequences(control, isControl)),
    ...(await readSequences(apps, isApp)),
  );
  manifest.left_out.push(...(await listExcludedRawDatabases(control)));
  // Files come last: a file exists before the row that names it.
  yield* fileEntries(sources);
  yield tarEntry(manifestPath, Buffer.from(`${JSON.stringify(manifest, null, 1)}\n`), at);
}

async function* fileEntries({ dataDir, anchors, manifest, note }: Sources): AsyncGenerator<FileEntry> {
  const sum = createHash('sha256');
  const skipped = (path: string) => {
    manifest.left_out.push(`${path} in the data dir`);
    note(`Excluded: ${path} is not a regular file.`);
  };
  for await (const found of dataFiles(dataDir, skipped)) {
    const isAnchors = found.path === basename(anchorsPath(dataDir));
    // A file created after the snapshot may contain entries that the snapshot lacks.
    if (isAnchors && !anchors) continue;
    const file = isAnchors && anchors ? asOfSnapshot(found, anchors) : found;
    sum.update(fileHashInput(file));
    manifest.files.count += file.kind === 'file' ? 1 : 0;
    manifest.files.bytes += file.size;
    yield { ...file, path: `${filesFolder}/${file.path}`, content: hashContent(file.content, sum) };
  }
  manifest.files.sha256 = sum.digest('hex');
}

function asOfSnapshot(file: FileEntry, { handle, size, modified }: NonNullable<Anchors>): FileEntry {
  return { ...file, size, modified, content: readExactly(handle, size) };
}

async function* hashContent(content: FileEntry['content'], sum: Hash): AsyncGenerator<Uint8Array> {
  for await (const chunk of content) {
    sum.update(chunk);
    yield chunk;
  }
}

async function listExcludedRawDatabases(control: ClientBase): Promise<string[]> {
  if (!(await hasTable(control, 'svc.raw_databases'))) return [];
  const { rows } = await control.query<{ what: string }>(
    `select format('database %s of app %s', r.database, a.slug) as what
     from svc.raw_databases r join svc.apps a on a.id = r.app_id where r.state <> 'dropping' order by 1`,
  );
  return rows.map(({ what }) => what);
}
