import { afterAll, describe, expect, test } from 'bun:test';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { withClient } from '../../../drivers/database/connect.ts';
import { hasPostgres15, query, startPostgres15, temporaryFolder } from '../../../drivers/database/testing.ts';
import { inDatabase } from '../../../drivers/raw-database/server.ts';
import { RawDatabaseError } from './raw-entries.ts';
import { definitionsOf, dump, embedded, newApp, restore } from './testing.ts';

const folder = temporaryFolder();
afterAll(folder.remove);

const richSchema = readFileSync(join(import.meta.dir, 'rich-schema.sql'), 'utf8');

describe('a raw database', () => {
  test('is restored with the same definitions, rights, rows, sequences and large objects', async () => {
    const server = await embedded();
    const app = await newApp(server, richSchema);
    const first = await dump(server, app.name);
    expect(first.manifest.left_out).toEqual([]);
    expect(await restore(server, app.name, first.entries)).toEqual([]);
    const second = await dump(server, app.name);
    expect(await definitionsOf(second.entries)).toEqual(await definitionsOf(first.entries));
    const contents = ({ entries }: typeof first) =>
      Promise.all(
        entries.slice(1).map(async ({ path, content }) => [path, ...(await Array.fromAsync(content))]),
      );
    expect(await contents(second)).toEqual(await contents(first));
    expect(first.manifest.raw_databases[0]).toMatchObject({ rows: 500 + 3000 + 900 + 2 + 2 + 1 + 50 });
    const [facts] = await query(
      inDatabase(server.url, app.name),
      `select (select count(*)::int from pg_catalog.pg_class where relowner <> (select oid from pg_roles where rolname = '${app.name}')
          and relnamespace = 'public'::regnamespace) as foreign, (select sum from public.counts_of_counts)::int as counted,
        (select relispopulated from pg_class where relname = 'never') as populated,
        (select count(*)::int from pg_roles where rolname like '${app.name}\\_%') as roles`,
    );
    expect(facts).toEqual({ foreign: 0, counted: 3000, populated: false, roles: 0 });
  });

  test('that its app keeps locked is reported, and does not stop other backups', async () => {
    const server = await embedded();
    const app = await newApp(server, 'create table t (id int)');
    await withClient(app.url, async (client) => {
      await client.query('begin; lock table t in access exclusive mode');
      const error = await dump(server, app.name).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(RawDatabaseError);
      expect(String(error)).toContain('lock timeout');
    });
  });
});

describe.if(hasPostgres15)('with PostgreSQL 15', () => {
  const bin = '/usr/lib/postgresql/15/bin';
  const dumpedBy = (database: string, cluster: string, ...flags: string[]) => {
    const ran = Bun.spawnSync([`${bin}/pg_dump`, '-h', cluster, '-U', 'postgres', ...flags, database], {
      env: { PGPASSWORD: 'secret' },
    });
    if (ran.exitCode !== 0) throw new Error(ran.stderr.toString());
    return ran.stdout.toString().replace(/^\\(un)?restrict .*$/gm, '');
  };

  test('pg_dump writes the same before and after; a dump of PostgreSQL 18 can be loaded, and one of 15 there', async () => {
    const cluster = join(folder.path, 'fifteen');
    mkdirSync(cluster);
    await startPostgres15(cluster);
    const url = (user: string, database: string) =>
      `postgresql://${user}:secret@localhost/${database}?host=${encodeURIComponent(cluster)}`;
    await query(
      url('postgres', 'postgres'),
      `create role owner login createrole createdb bypassrls password 'secret'`,
    );
    await query(url('postgres', 'postgres'), 'create database svc owner owner');
    await query(url('postgres', 'postgres'), 'revoke connect on database postgres, template1 from public');
    const server = { url: url('owner', 'svc'), superuserUrl: null };
    const app = await newApp(server, richSchema);
    const before = dumpedBy(app.name, cluster, '-b');
    const { entries, manifest } = await dump(server, app.name);
    expect(manifest.left_out).toEqual([]);
    await restore(server, app.name, entries);
    expect(dumpedBy(app.name, cluster, '-b') === before).toBeTrue();

    const newer = await embedded();
    const other = await newApp(newer, richSchema);
    await restore(server, other.name, (await dump(newer, other.name)).entries);
    expect(dumpedBy(other.name, cluster, '-s').replaceAll(other.name, app.name)).toBe(
      dumpedBy(app.name, cluster, '-s'),
    );
    await restore(newer, app.name, entries);
  });
});
