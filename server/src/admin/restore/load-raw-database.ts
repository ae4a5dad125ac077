import type { Client } from 'pg';
import { withClient } from '../../drivers/database/connect.ts';
import { qualifiedName } from '../backup/archive.ts';
import { type Manifest, parseRawPath, parseTablePath, tableKey } from '../backup/manifest.ts';
import type { Definitions } from '../backup/raw/dump-definitions.ts';
import { definitionsName, endName } from '../backup/raw/raw-entries.ts';
import { copySettings, type TableFacts } from '../backup/snapshot.ts';
import { copyInto, type Entries } from './copy-in.ts';
import { type RestoredRawDatabases, runDefinition } from './raw-databases.ts';
import { damagedError } from './tar-reader.ts';
import { readWhole } from './verify-backup.ts';

type Dump = Definitions & { tables: TableFacts[] };

/** The entries of one database, up to its last one. */
export async function loadRawDatabase(
  entries: Entries,
  raw: RestoredRawDatabases,
  note: (line: string) => void,
): Promise<void> {
  const first = await entries.peek();
  const of = parseRawPath(first?.path ?? '');
  if (!first || of?.inside !== definitionsName) throw damagedError('a raw database has no definitions');
  const dump = JSON.parse((await readWhole(first.content)).toString()) as Dump;
  entries.advance();
  const { url } = await raw.create(of.database);
  await withClient(url, async (client) => {
    // Functions of the app may count on its search path; all names in the definitions are qualified.
    await client.query(`${copySettings}; reset search_path`);
    for (const statement of dump.beforeRows) await runDefinition(client, statement, dump);
    const sequences = await loadContent(client, entries, dump);
    for (const statement of dump.afterRows) await runDefinition(client, statement, dump);
    for (const { schema, name, last_value, is_called } of sequences) {
      const values = [qualifiedName({ schema, name }), last_value, is_called];
      await client.query('select pg_catalog.setval($1::regclass, $2, $3)', values);
    }
    for (const statement of dump.refresh)
      await client
        .query(statement)
        .catch((error: unknown) => note(`In ${of.database}, "${statement}" failed: ${String(error)}`));
  });
  await raw.finish(of.database, dump);
}

/** Returns the states of the sequences. */
async function loadContent(
  client: Client,
  entries: Entries,
  { tables }: Dump,
): Promise<Manifest['sequences']> {
  const parse = (path: string) => parseTablePath(parseRawPath(path)?.inside ?? '');
  for (let entry = await entries.peek(); entry; entry = await entries.peek()) {
    const inside = parseRawPath(entry.path)?.inside ?? '';
    const found = parse(entry.path);
    const table = found && tables.find((listed) => tableKey(listed) === tableKey(found));
    const [, large, at] = /^large-objects\/(\d+)\/(\d+)$/.exec(inside) ?? [];
    if (table) {
      await copyInto(client, { entries, table, parse });
      continue;
    }
    if (large !== undefined && at !== undefined) {
      if (at === '0') await client.query('select lo_create($1::oid)', [large]);
      await client.query('select lo_put($1::oid, $2, $3)', [large, at, await readWhole(entry.content)]);
    } else if (inside === endName) {
      const { sequences } = JSON.parse((await readWhole(entry.content)).toString()) as Pick<
        Manifest,
        'sequences'
      >;
      entries.advance();
      return sequences;
    } else throw damagedError(`${entry.path} is not expected`);
    entries.advance();
  }
  throw damagedError('a raw database is not complete');
}
