import { afterAll, describe, expect, test } from 'bun:test';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { anchorsPath, appendAnchor } from '../../core/audit-verify.ts';
import { withClient } from '../../drivers/database/connect.ts';
import { hasPostgres15, query, startPostgres15 } from '../../drivers/database/testing.ts';
import { openFileStore } from '../../drivers/object-store/file-store.ts';
import { readBackup, readWhole } from '../restore/verify-backup.ts';
import { admin, installations } from '../testing.ts';
import type { Manifest } from './manifest.ts';

const { folder, installation, installationOn, remove } = installations();
afterAll(remove);

async function manifestOf(file: string): Promise<Manifest> {
  for await (const entry of readBackup({ file, identities: [] })) {
    if (entry.path === 'manifest.json') return JSON.parse((await readWhole(entry.content)).toString());
  }
  throw new Error('no manifest');
}

async function contentOf(file: string) {
  const { tables, sequences, schemas, files, migrations } = await manifestOf(file);
  return { tables, sequences, schemas, files, migrations };
}

async function rowsRoleOf(url: string): Promise<string> {
  const [key] = await query(url, `select value from svc.platform_keys where name = 'rows_role'`);
  return key?.value;
}

async function makeAppSchemas(url: string): Promise<void> {
  const sql = readFileSync(join(import.meta.dir, 'app-schema.sql'), 'utf8');
  await query(url, sql.replaceAll(':rows', await rowsRoleOf(url)));
}

let shared: Promise<Installation> | undefined;
type Installation = Awaited<ReturnType<typeof installation>>;

function filled(): Promise<Installation> {
  shared ??= fill();
  return shared;
}

async function fill(): Promise<Installation> {
  const source = await installation();
  for (const slug of ['one', 'two']) await source.run(['tenants', 'create', slug]);
  await source.run(['users', 'create', 'ann@example.test', '--password-stdin'], 'correct horse\n');
  await source.run([
    'members',
    'set',
    '--tenant',
    'one',
    '--user',
    'ann@example.test',
    '--role',
    'tenant_admin',
  ]);
  await source.run(['tokens', 'issue', '--user', 'ann@example.test']);
  await makeAppSchemas(source.url);
  const long = join(source.dataDir, 'blobs', 'ab', 'x'.repeat(120));
  mkdirSync(join(source.dataDir, 'blobs', 'ab'), { recursive: true });
  mkdirSync(join(source.dataDir, 'empty'), { mode: 0o750 });
  writeFileSync(
    long,
    new Uint8Array(700_000).map((_, at) => at % 251),
  );
  writeFileSync(join(source.dataDir, 'run.sh'), '#!/bin/sh\n');
  chmodSync(join(source.dataDir, 'run.sh'), 0o755);
  for (const name of ['postgres.json', 'local-login.json', 'server.lock', 'postgres.log', 'old.tar.gz']) {
    writeFileSync(join(source.dataDir, name), 'of this machine');
  }
  return source;
}

describe('a backup', () => {
  test('restores the same rows, schemas, rights, sequences and files into an empty system', async () => {
    const source = await filled();
    const first = await source.backup();
    expect(statSync(first).mode & 0o777).toBe(0o600);
    const target = await installation();
    const restored = await target.run(['restore', '--from', first]);
    expect(restored).toMatchObject({ app_schemas: 2, audit_breaks: [], migrated: [], left_out: [] });

    const [before, after] = [await contentOf(first), await contentOf(await target.backup())];
    const withoutKeys = (content: Awaited<ReturnType<typeof contentOf>>) => ({
      ...content,
      tables: content.tables.filter((table) => table.name !== 'platform_keys'),
    });
    expect(withoutKeys(after)).toEqual(withoutKeys(before));
    expect(before.tables.find((table) => table.name === 'all_types')).toMatchObject({ rows: 6 });
    expect(before.files.count).toBe(2);
    expect(statSync(join(target.dataDir, 'run.sh')).mode & 0o777).toBe(0o755);
    expect(statSync(join(target.dataDir, 'empty')).isDirectory()).toBeTrue();
    expect(readdirSync(target.dataDir).sort()).toEqual(['blobs', 'empty', 'run.sh']);
    expect((await target.run(['doctor'])).ok).toBeTrue();
  });

  test('contains stored objects but no uploads in progress', async () => {
    const source = await installation();
    await source.run(['tenants', 'create', 'one']);
    const store = openFileStore(source.dataDir);
    async function* body(letter: string) {
      for (let at = 0; at < 10; at += 1) yield new Uint8Array(100_000).fill(letter.charCodeAt(0));
    }
    for (const letter of 'abc') await store.put(`blobs/${letter}/x`, body(letter), { bytesMax: 1_000_000 });
    const stuck = new AbortController();
    const isOnItsWay = Promise.withResolvers<void>();
    async function* slow() {
      yield* body('s');
      isOnItsWay.resolve();
      await new Promise(() => {});
    }
    const unfinished = store.put('blobs/slow', slow(), { bytesMax: 2_000_000, signal: stuck.signal });
    unfinished.catch(() => {});
    await isOnItsWay.promise;
    const file = await source.backup();
    stuck.abort();
    const target = await installation();
    await target.run(['restore', '--from', file]);
    const restored = openFileStore(target.dataDir);
    const keys = (await Array.fromAsync(restored.list(''))).map(({ key }) => key);
    expect(keys).toEqual(['blobs/a/x', 'blobs/b/x', 'blobs/c/x']);
    expect(await new Response((await restored.get('blobs/b/x'))?.body).text()).toBe('b'.repeat(1_000_000));
    const inside = readdirSync(join(target.dataDir, 'objects'), { recursive: true, withFileTypes: true });
    expect(inside.filter((entry) => entry.isFile()).length).toBe(3);
    expect((await target.run(['doctor'])).ok).toBeTrue();
  });

  test('of a bucket that does not answer fails, and without objects says what is missing', async () => {
    const source = await installation();
    await source.run(['tenants', 'create', 'one']);
    const env = {
      ...source.env,
      SVC_OBJECT_STORE: 's3://objects?endpoint=http://127.0.0.1:1',
      AWS_ACCESS_KEY_ID: 'a',
      AWS_SECRET_ACCESS_KEY: 'b',
    };
    const file = join(folder, 'bucket.tar.gz');
    expect((await admin(env, ['backup', '--to', file])).exit).toBe(13);
    expect(readdirSync(folder).filter((name) => name.startsWith('bucket'))).toEqual([]);
    const { json } = await admin(env, ['backup', '--to', file, '--exclude', 'objects']);
    expect(json.left_out).toEqual(['objects of an unknown size, because of --exclude objects']);
  });

  test('that the disk has no room for leaves no file', async () => {
    const source = await filled();
    const disk = join(folder, 'small');
    mkdirSync(disk);
    const mounted = Bun.spawnSync(['mount', '-t', 'tmpfs', '-o', 'size=16k,mode=700', 'svc-test', disk]);
    if (mounted.exitCode !== 0) return;
    try {
      const { exit, err } = await admin(source.env, ['backup', '--to', join(disk, 'full.tar.gz')]);
      expect([exit, readdirSync(disk)]).toEqual([1, []]);
      expect(err).toContain('ENOSPC');
    } finally {
      Bun.spawnSync(['umount', '-l', disk]);
    }
  });

  test('grants the rights to the target’s row role, and rows work there', async () => {
    const source = await filled();
    const target = await installation();
    await target.run(['migrate']);
    const role = await rowsRoleOf(target.url);
    await target.run(['restore', '--from', await source.backup()]);
    expect(await rowsRoleOf(target.url)).toBe(role);
    expect(role).not.toBe(await rowsRoleOf(source.url));
    const rights = await query(
      target.url,
      `select has_table_privilege('${role}', 'app_7.all_types', 'select') as reads,
         has_table_privilege('${role}', 'app_7.all_types', 'update') as updates,
         has_column_privilege('${role}', 'app_7.all_types', 'txt', 'update') as updates_text`,
    );
    expect(rights).toEqual([{ reads: true, updates: false, updates_text: true }]);
    const [row] = await query(
      target.url,
      `insert into app_7.all_types (ratio) values (1) returning number, counted::int, small, twice`,
    );
    expect(row).toEqual({ number: 29, counted: 106, small: 42, twice: 41 });
  });

  test('keeps pending effects and logins', async () => {
    const source = await filled();
    const target = await installation();
    await target.run(['restore', '--from', await source.backup()]);
    const facts = `select (select count(*)::int from svc.outbox where done_at is null) as open,
      (select string_agg(id_hash, ',' order by id_hash) from svc.oauth_models) as logins,
      (select password_hash from svc.users) as password`;
    expect(await query(target.url, facts)).toEqual(await query(source.url, facts));
    expect((await query(target.url, facts))[0]!.open).toBeGreaterThan(0);
  });

  test('lists raw databases that it cannot read, and ends with 1', async () => {
    const source = await installation();
    await source.run(['migrate']);
    await query(
      source.url,
      `with t as (insert into svc.tenants (id, slug, name, created_at)
           values (gen_random_uuid(), 'acme', 'acme', now()) returning id),
         u as (insert into svc.users (id, email, name, created_at)
           values (gen_random_uuid(), 'o@example.test', 'O', now()) returning id),
         a as (insert into svc.apps (id, tenant_id, slug, name, owner_id, owner_since, created_at, updated_at)
           select gen_random_uuid(), t.id, 'shop', 'Shop', u.id, now(), now(), now() from t, u returning id, tenant_id, owner_id)
       insert into svc.raw_databases
         select id, tenant_id, 'svc_raw_' || repeat('0', 32), 'ready', false, '', 5, 'postgresql://localhost/', owner_id, now()
         from a`,
    );
    const file = join(folder, 'raw.tar.gz');
    const name = `svc_raw_${'0'.repeat(32)}`;
    const { exit, json } = await admin(source.env, ['backup', '--to', file]);
    expect([exit, json.left_out]).toEqual([
      1,
      [`database ${name} of app shop, which cannot be read: database "${name}" does not exist`],
    ]);

    await query(
      source.url,
      `insert into svc.outbox (id, topic, payload, created_at)
         values (gen_random_uuid(), 'rawDb.settle', '{}', now());
       insert into svc.platform_keys (name, value) values ('raw_db.installation', '"source"')`,
    );
    const target = await installation();
    await admin(source.env, ['backup', '--to', file]);
    const restored = await target.run(['restore', '--from', file]);
    expect(restored.raw_databases_of).toEqual(['shop']);
    for (const left of [
      'svc.raw_databases',
      `svc.outbox where topic = 'rawDb.settle'`,
      `svc.platform_keys where name = 'raw_db.installation'`,
    ])
      expect([left, await query(target.url, `select from ${left}`)]).toEqual([left, []]);
  });

  test('lists the objects that it cannot contain', async () => {
    const source = await installation();
    await source.run(['migrate']);
    await query(source.url, 'create schema app_v; create view app_v.v as select 1 as one');
    const { left_out } = await source.run(['backup', '--to', join(folder, 'view.tar.gz')]);
    expect(left_out).toEqual(['view app_v.v']);
  });

  test('of an empty database, or into a missing folder, is refused', async () => {
    const { env } = await installation();
    const outcome = await admin(env, ['backup', '--to', join(folder, 'none.tar.gz')]);
    expect([outcome.exit, existsSync(join(folder, 'none.tar.gz'))]).toEqual([6, false]);
    const other = await filled();
    expect((await admin(other.env, ['backup', '--to', join(folder, 'no', 'such.tar.gz')])).exit).toBe(7);
  });
});

test('a backup during changes contains each change completely or not at all, with its anchor', async () => {
  const source = await installation();
  await source.run(['users', 'create', 'bob@example.test']);
  let writing = true;
  const writer = (async () => {
    for (let n = 0; writing; n++) {
      await source.run(['tenants', 'create', `t${n}`]);
      const [head] = await query(
        source.url,
        'select tenant_id as "tenantId", seq::int, hash from svc.audit_heads',
      );
      appendAnchor(anchorsPath(source.dataDir), head as never);
    }
  })();
  const files: string[] = [];
  for (let n = 0; n < 4; n++) files.push(await source.backup());
  writing = false;
  await writer;
  const target = await installation();
  for (const file of files) {
    expect(await target.run(['restore', '--from', file, '--yes'])).toMatchObject({ audit_breaks: [] });
    const [counts] = await query(
      target.url,
      `select (select count(*) from svc.tenants) + (select count(*) from svc.users) as made,
         (select count(*) from svc.audit_entries) as entries, (select sum(seq) from svc.audit_heads) as heads`,
    );
    expect(counts!.entries).toBe(counts!.made);
    expect(counts!.heads).toBe(counts!.made);
  }
});

describe.if(hasPostgres15)('with PostgreSQL 15', () => {
  test('a backup of the embedded PostgreSQL can be restored and backed up again', async () => {
    const cluster = join(folder, 'fifteen');
    mkdirSync(cluster);
    await startPostgres15(cluster);
    const url = (user: string, database: string) =>
      `postgresql://${user}:secret@localhost/${database}?host=${encodeURIComponent(cluster)}`;
    await query(url('postgres', 'postgres'), `create role owner login createrole password 'secret'`);
    await query(url('postgres', 'postgres'), 'create database svc owner owner');
    const source = await filled();
    const file = await source.backup();
    const target = installationOn(url('owner', 'svc'));
    await target.run(['restore', '--from', file]);
    const [before, after] = [await contentOf(file), await contentOf(await target.backup())];
    const data = (content: typeof before) => content.tables.filter((table) => table.name !== 'platform_keys');
    expect(data(after)).toEqual(data(before));
    expect(after.sequences).toEqual(before.sequences);
    if (!process.env.SVC_DATABASE_URL)
      expect((await manifestOf(file)).postgres_version).not.toStartWith('15');
    expect((await target.run(['doctor'])).ok).toBeTrue();
  });
});

test('rows on a separate data server are backed up and restored to that of the target', async () => {
  const [source, sourceRows, target, targetRows] = await Promise.all([
    installation(),
    installation(),
    installation(),
    installation(),
  ]);
  await query(sourceRows.url, 'create schema app_1; create table app_1.pets as select 7 as age');
  const file = join(folder, 'elsewhere.tar.gz');
  const run = async (env: Record<string, string>, argv: string[]) => {
    const { exit, err } = await admin(env, argv);
    expect([exit, err]).toEqual([0, expect.any(String)]);
  };
  const sourceEnv = { ...source.env, SVC_DATA_DATABASE_URL: sourceRows.url };
  await run(sourceEnv, ['tenants', 'create', 'ours']);
  await run(sourceEnv, ['backup', '--to', file]);
  await run({ ...target.env, SVC_DATA_DATABASE_URL: targetRows.url }, ['restore', '--from', file]);
  expect(await query(targetRows.url, 'select age from app_1.pets')).toEqual([{ age: 7 }]);
  expect(await query(target.url, 'select slug from svc.tenants')).toEqual([{ slug: 'ours' }]);
});

test('a copy has backpressure, and leaving it early closes the connection', async () => {
  const source = await installation();
  const { copyOut } = await import('./copy-out.ts');
  await withClient(source.url, async (client) => {
    const copy = copyOut(client, `copy (select repeat('x', 1000) from generate_series(1, 20000)) to stdout`);
    let bytes = 0;
    for await (const piece of copy) {
      bytes += piece.length;
      await Bun.sleep(5);
    }
    expect([bytes, copy.rows()]).toEqual([20_020_000, 20_000]);
    expect((await client.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
    expect(readWhole(copyOut(client, 'copy nothing to stdout'))).rejects.toThrow('does not exist');
    expect((await client.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
    for await (const _ of copyOut(
      client,
      `copy (select repeat('x', 1000) from generate_series(1, 20000)) to stdout`,
    ))
      break;
    expect(client.query('select 1')).rejects.toThrow();
  });
});
