import type { Client } from 'pg';
import { withClient } from '../../../drivers/database/connect.ts';
import { query, testDatabase } from '../../../drivers/database/testing.ts';
import { createRawDatabases } from '../../../drivers/raw-database/raw-databases.ts';
import { externalServer } from '../../../drivers/raw-database/server.ts';
import { newRawDatabase } from '../../../drivers/raw-database/testing.ts';
import { Entries } from '../../restore/copy-in.ts';
import { loadRawDatabase, restoreRawDatabases } from '../../restore/raw-databases.ts';
import type { FileEntry } from '../data-files.ts';
import type { Manifest } from '../manifest.ts';
import { rawDatabaseEntries } from './raw-entries.ts';

export interface Server {
  url: string;
  superuserUrl: string | null;
}

export async function newApp({ url }: Server, sql: string) {
  const raw = createRawDatabases({ installation: 'test', server: externalServer(url) });
  const spec = await newRawDatabase(raw);
  for (const part of sql.split('-- next transaction')) await query(spec.url, part);
  return spec;
}

export async function dump(server: Server, database: string) {
  const manifest = { raw_databases: [], left_out: [] } as unknown as Manifest;
  const entries: FileEntry[] = [];
  const access = { ...server, stop: async () => {}, stopNow: () => {} };
  const sources = { server: access, at: new Date(), manifest, progress: () => {} };
  for await (const entry of rawDatabaseEntries({ database, app: 'shop' }, sources)) entries.push(entry);
  return { entries, manifest };
}

async function* streamed(entries: readonly FileEntry[]) {
  yield* entries;
}

export async function restore(
  { url }: Server,
  name: string,
  entries: readonly FileEntry[],
): Promise<string[]> {
  return await withClient(url, async (admin: Client) => {
    const raw = await restoreRawDatabases(admin, {
      url,
      installation: 'test',
      names: [name],
      now: new Date(),
    });
    const notes: string[] = [];
    try {
      await loadRawDatabase(new Entries(streamed(entries)), raw, (line) => notes.push(line));
      await raw.exchange();
    } finally {
      await raw.remove();
    }
    return notes;
  });
}

/** Objects that do not need each other have no order. */
export async function definitionsOf(entries: readonly FileEntry[]): Promise<Record<string, unknown>> {
  const text = Buffer.concat(await Array.fromAsync(entries[0]?.content ?? [])).toString();
  const lists = Object.entries(JSON.parse(text) as Record<string, unknown>);
  return Object.fromEntries(
    lists.map(([name, list]) => [name, Array.isArray(list) && name !== 'tables' ? list.toSorted() : list]),
  );
}

export async function embedded(): Promise<Server> {
  const { controlUrl, adminUrl } = await testDatabase();
  return { url: controlUrl, superuserUrl: adminUrl };
}
