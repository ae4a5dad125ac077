import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { formatBytes } from '@svc/cli/output/progress.ts';
import pg, { type ClientBase, escapeIdentifier as ident } from 'pg';
import type { Config } from '../../../config.ts';
import { clusterFolder } from '../../../drivers/database/cluster.ts';
import { withClient } from '../../../drivers/database/connect.ts';
import type { Database } from '../../../drivers/database/database.ts';
import type { attachEmbedded } from '../../../drivers/database/embedded.ts';
import { rawDataDir } from '../../../drivers/raw-database/raw-databases.ts';
import { inDatabase, readerName } from '../../../drivers/raw-database/server.ts';
import { adminUrl, hasTable } from '../../system.ts';
import { copyTable, readSequenceStates, tarEntry } from '../archive.ts';
import type { FileEntry } from '../data-files.ts';
import { fileHashInput, type Manifest, rawPath, tablePath } from '../manifest.ts';
import { beginSnapshot, type TableFacts } from '../snapshot.ts';
import { dumpDefinitions } from './dump-definitions.ts';
import { largeObjectsSql, sequenceNamesSql, tablesSql } from './properties-sql.ts';

export interface RawServerAccess {
  url: string;
  superuserUrl: string | null;
  stop(): Promise<void>;
  stopNow(): void;
}

export async function openRawServer(
  { rawDatabaseUrl, dataDir }: Pick<Config, 'rawDatabaseUrl' | 'dataDir'>,
  { kind, controlUrl }: Pick<Database, 'kind' | 'controlUrl'>,
  open: typeof attachEmbedded,
  ifMissing: 'create' | 'none',
): Promise<RawServerAccess | null> {
  const url = rawDatabaseUrl ?? (kind === 'external' ? controlUrl : undefined);
  if (url !== undefined) return { url, superuserUrl: null, stop: async () => {}, stopNow: () => {} };
  const folder = rawDataDir(dataDir);
  if (ifMissing === 'none' && !existsSync(clusterFolder(folder))) return null;
  const server = await open({ dataDir: folder, use: 'app_databases', log: () => {} });
  const { controlUrl: ownUrl, adminUrl: superuserUrl, stop, stopNow } = server;
  return { url: ownUrl, superuserUrl, stop, stopNow };
}

export interface RawDatabaseRef {
  database: string;
  app: string;
}

export async function listRawDatabases(control: ClientBase): Promise<RawDatabaseRef[]> {
  if (!(await hasTable(control, 'svc.raw_databases'))) return [];
  const { rows } = await control.query<RawDatabaseRef>(
    `select r.database, a.slug as app from svc.raw_databases r join svc.apps a on a.id = r.app_id
     where r.state <> 'dropping' order by 2, 1`,
  );
  return rows;
}

export async function measureRawDatabases(
  server: RawServerAccess | null,
  databases: readonly RawDatabaseRef[],
): Promise<Map<string, number>> {
  if (!server || databases.length === 0) return new Map();
  const sizes =
    'select datname as name, pg_database_size(oid) as bytes from pg_database where datname = any ($1)';
  const names = databases.map(({ database }) => database);
  const rows = await withClient(
    adminUrl(server.url),
    async (client) => (await client.query<{ name: string; bytes: string }>(sizes, [names])).rows,
  ).catch(() => []);
  return new Map(rows.map(({ name, bytes }) => [name, Number(bytes)]));
}

export function describeRawDatabase({ database, app }: RawDatabaseRef, bytes?: number): string {
  return `database ${database} of app ${app}${bytes === undefined ? '' : ` (${formatBytes(bytes)})`}`;
}

interface RawSources {
  server: RawServerAccess;
  at: Date;
  manifest: Manifest;
  progress(bytes: number): void;
}

/** One after the other, each from its own snapshot. Databases are opened before the first entry: one app must not prevent the backup. */
export async function* rawDatabaseEntries(
  ref: RawDatabaseRef,
  { server, at, manifest, progress }: RawSources,
): AsyncGenerator<FileEntry> {
  const { client, definitions, tables, leftOut } = await openDump(ref, server);
  try {
    manifest.left_out.push(...leftOut.map((what) => `${what} in the ${describeRawDatabase(ref)}`));
    const hash = createHash('sha256');
    const record = { ...ref, tables: tables.length, rows: 0, bytes: 0 };
    const entry = (inside: string, content: Uint8Array) => {
      const made = tarEntry(rawPath(ref.database, inside), content, at);
      hash.update(fileHashInput(made)).update(content);
      record.bytes += content.byteLength;
      progress(content.byteLength);
      return made;
    };
    yield entry(definitionsName, json({ ...definitions, tables }));
    for (const table of tables) {
      const copy = copyTable(client, table);
      let piece = 0;
      for await (const part of copy) yield entry(tablePath(table, piece++), part);
      record.rows += copy.rows();
    }
    for await (const { path, content } of largeObjects(client, ref)) yield entry(path, content);
    const { rows: names } = await client.query<{ schema: string; name: string }>(sequenceNamesSql);
    yield entry(endName, json({ sequences: await readSequenceStates(client, names) }));
    manifest.raw_databases.push({ ...record, sha256: hash.digest('hex') });
  } finally {
    await client.end().catch(() => {});
  }
}

export const definitionsName = 'definitions.json';
export const endName = 'end.json';

export class RawDatabaseError extends Error {}

async function openDump(ref: RawDatabaseRef, { url, superuserUrl }: RawServerAccess) {
  try {
    const asPlatform = await tryDump(ref, url);
    if (asPlatform) return asPlatform;
    return (superuserUrl === null ? null : await tryDump(ref, superuserUrl)) ?? rowSecurityError(ref);
  } catch (error) {
    throw new RawDatabaseError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

function rowSecurityError({ database }: RawDatabaseRef): never {
  throw new Error(
    `it has tables with FORCE ROW LEVEL SECURITY, which the login of the platform for ${database} cannot read: ` +
      'alter role … bypassrls',
  );
}

async function tryDump({ database }: RawDatabaseRef, url: string) {
  const client = new pg.Client({
    connectionString: adminUrl(inDatabase(url, database)),
    connectionTimeoutMillis: 10_000,
  });
  client.on('error', () => {});
  let isOpen = false;
  try {
    await client.connect();
    // Without the rights of the platform: definitions of the app are read, and none of its functions should ever run with them.
    await client.query(`set role ${ident(database)}`);
    await beginSnapshot(client, listTables);
    const dumped = await dumpDefinitions(client, { role: database, reviewRole: readerName(database) });
    const found = (await listTables(client)).filter(({ id }) => dumped.hasTable(id));
    if (found.some(({ isForced }) => isForced)) {
      await client.query('reset role');
      const bypass = 'select from pg_roles where rolname = current_user and (rolsuper or rolbypassrls)';
      if ((await client.query(bypass)).rowCount === 0) return null;
    }
    isOpen = true;
    const tables = found.map(({ schema, name, columns }) => ({ schema, name, columns }));
    return { client, tables, definitions: dumped.definitions, leftOut: dumped.leftOut };
  } finally {
    if (!isOpen) await client.end().catch(() => {});
  }
}

type RawTable = TableFacts & { id: string; isForced: boolean };

async function listTables(client: ClientBase): Promise<RawTable[]> {
  return (await client.query<RawTable>(tablesSql)).rows;
}

const largePieceBytes = 1024 * 1024;

async function* largeObjects(
  client: ClientBase,
  { database }: RawDatabaseRef,
): AsyncGenerator<{ path: string; content: Buffer }> {
  const { rows } = await client.query<{ id: string }>(largeObjectsSql, [database]);
  for (const { id } of rows) {
    for (let at = 0; ; at += largePieceBytes) {
      const piece = await client.query<{ bytes: Buffer }>('select lo_get($1::oid, $2, $3) as bytes', [
        id,
        at,
        largePieceBytes,
      ]);
      const bytes = piece.rows[0]?.bytes ?? Buffer.alloc(0);
      if (bytes.length > 0 || at === 0) yield { path: `large-objects/${id}/${at}`, content: bytes };
      if (bytes.length < largePieceBytes) break;
    }
  }
}

function json(value: unknown): Buffer {
  return Buffer.from(`${JSON.stringify(value, null, 1)}\n`);
}
