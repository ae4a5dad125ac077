import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { basename } from 'node:path';
import pg, { type ClientBase } from 'pg';
import packageJson from '../../../package.json' with { type: 'json' };
import { anchorsFile } from '../../plumbing/audit-anchors.ts';
import { fail } from '../../plumbing/problem.ts';
import { type DataFile, dataFiles, type Handle, readExactly } from './data-files.ts';
import { entryOf, readSequences, schemaEntries, tableEntries } from './entries.ts';
import { fileFacts, filesFolder, type Manifest, manifestFormat, manifestPath } from './manifest.ts';
import { rawDatabasesLeftOut } from './raw-databases.ts';
import { controlSchema, isSameDatabase, openSnapshot } from './snapshot.ts';
import { type TarEntry, tarBytes } from './tar-writer.ts';
import { writeArchive } from './write-archive.ts';

export interface BackupInput {
  controlUrl: string;
  rowsUrl: string;
  /** Where the schemas of apps are, if it was said. */
  dataDatabaseUrl: string | undefined;
  dataDir: string;
  file: string;
  /** What is kept in places that a backup does not reach. */
  elsewhere: readonly string[];
  note(line: string): void;
  onInterrupt(undo: () => void): () => void;
}

/** Everything of the platform at one moment, in one file that appears when it is whole. */
export async function makeBackup(input: BackupInput): Promise<{ manifest: Manifest; bytes: number }> {
  // Opened before the database is looked at: every anchor in it speaks of entries that the snapshot has.
  const anchors = await openAnchors(input.dataDir);
  const control = await openSnapshot(input.controlUrl);
  try {
    const apps = await openApps(control, input);
    try {
      const manifest = await beginManifest(control, apps.client);
      manifest.left_out.push(...input.elsewhere);
      const entries = allEntries({ ...input, control, apps: apps.client, anchors, manifest });
      return { manifest, bytes: await writeArchive(input, tarBytes(entries)) };
    } finally {
      await apps.close();
    }
  } finally {
    await control.end().catch(() => {});
    await anchors?.handle.close();
  }
}

type Anchors = { handle: Handle; size: number; modified: Date } | null;

async function openAnchors(dataDir: string): Promise<Anchors> {
  try {
    const handle = await open(anchorsFile(dataDir));
    const { size, mtime } = await handle.stat();
    return { handle, size, modified: mtime };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** The schemas of apps may be on another server; then they have a moment of their own, a little later. */
async function openApps(
  control: ClientBase,
  { dataDatabaseUrl }: BackupInput,
): Promise<{ client: ClientBase; close(): Promise<void> }> {
  const here = { client: control, close: async () => {} };
  if (!dataDatabaseUrl) return here;
  const client = await openSnapshot(dataDatabaseUrl);
  const close = () => client.end().catch(() => {});
  if (!(await isSameDatabase(control, client))) return { client, close };
  await close();
  return here;
}

async function beginManifest(control: ClientBase, apps: ClientBase): Promise<Manifest> {
  const { rows } = await control.query<{ at: Date; version: string; partitioned: string[] }>(
    `select now() as at, current_setting('server_version') as version, array(
       select c.relname::text from pg_class c join pg_namespace n on n.oid = c.relnamespace
       where n.nspname = $1 and c.relkind = 'p') as partitioned`,
    [controlSchema],
  );
  const migrated = await control.query(
    "select from pg_tables where schemaname = $1 and tablename = 'migrations'",
    [controlSchema],
  );
  const [facts] = rows;
  if (!facts || migrated.rowCount === 0) {
    throw fail('invalid_state_transition', { detail: 'There is nothing to back up: the database is empty.' });
  }
  if (facts.partitioned.length > 0)
    throw new Error(`Partitioned tables are not supported: ${facts.partitioned}.`);
  const migrations = await control.query<{ name: string; checksum: string }>(
    'select name, checksum from svc.migrations order by name',
  );
  const extensions = await apps.query<{ name: string; schema: string }>(
    `select e.extname as name, n.nspname as schema from pg_extension e join pg_namespace n on n.oid = e.extnamespace
     where e.extname <> 'plpgsql' order by 1`,
  );
  return {
    format: manifestFormat,
    created_at: facts.at.toISOString(),
    product_version: packageJson.version,
    postgres_version: facts.version,
    migrations: migrations.rows,
    extensions: extensions.rows,
    tables: [],
    sequences: [],
    schemas: [],
    files: { count: 0, bytes: 0, sha256: '' },
    left_out: [],
  };
}

interface Sources extends BackupInput {
  control: ClientBase;
  apps: ClientBase;
  anchors: Anchors;
  manifest: Manifest;
}

async function* allEntries(sources: Sources): AsyncGenerator<TarEntry> {
  const { control, apps, manifest } = sources;
  const at = new Date(manifest.created_at);
  const rowsRole = new pg.Client({ connectionString: sources.rowsUrl }).user ?? '';
  const isControl = ({ schema }: { schema: string }) => schema === controlSchema;
  const isApp = ({ schema }: { schema: string }) => schema.startsWith('app_');
  yield* schemaEntries(apps, { rowsRole, at, manifest });
  yield* tableEntries(control, { isWanted: isControl, at, manifest });
  yield* tableEntries(apps, { isWanted: isApp, at, manifest });
  manifest.sequences.push(
    ...(await readSequences(control, (schema) => isControl({ schema }))),
    ...(await readSequences(apps, (schema) => isApp({ schema }))),
  );
  manifest.left_out.push(...(await rawDatabasesLeftOut(control)));
  // Files come after: one that a row names was there before the row was.
  yield* fileEntries(sources);
  yield entryOf(manifestPath, Buffer.from(`${JSON.stringify(manifest, null, 1)}\n`), at);
}

async function* fileEntries({ dataDir, anchors, manifest, note }: Sources): AsyncGenerator<TarEntry> {
  const sum = createHash('sha256');
  const skipped = (path: string) => {
    manifest.left_out.push(`${path} in the data dir`);
    note(`Left out: ${path} is no plain file.`);
  };
  for await (const found of dataFiles(dataDir, skipped)) {
    const isAnchors = found.path === basename(anchorsFile(dataDir));
    // One that came up since speaks of entries that the snapshot may lack.
    if (isAnchors && !anchors) continue;
    const file = isAnchors && anchors ? asOfThen(found, anchors) : found;
    sum.update(fileFacts(file));
    manifest.files.count += file.kind === 'file' ? 1 : 0;
    manifest.files.bytes += file.size;
    yield { ...file, path: `${filesFolder}/${file.path}`, content: summed(file.content, sum) };
  }
  manifest.files.sha256 = sum.digest('hex');
}

function asOfThen(file: DataFile, { handle, size, modified }: NonNullable<Anchors>): DataFile {
  return { ...file, size, modified, content: readExactly(handle, size) };
}

async function* summed(
  content: AsyncIterable<Uint8Array>,
  sum: { update(chunk: Uint8Array): unknown },
): AsyncGenerator<Uint8Array> {
  for await (const chunk of content) {
    sum.update(chunk);
    yield chunk;
  }
}
