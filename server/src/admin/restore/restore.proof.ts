import { afterAll, describe, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { migrate, migrationsDirectory } from '../../core/migrate.ts';
import { withClient } from '../../drivers/database/connect.ts';
import { query } from '../../drivers/database/testing.ts';
import { tarBytes } from '../backup/archive.ts';
import type { FileEntry } from '../backup/data-files.ts';
import { adminUrl } from '../system.ts';
import { admin, installations } from '../testing.ts';
import { readBackup, readWhole } from './verify-backup.ts';

const { folder, installation, remove } = installations();
afterAll(remove);
let count = 0;

type Installation = Awaited<ReturnType<typeof installation>>;

async function withTenants(...slugs: string[]): Promise<Installation> {
  const made = await installation();
  for (const slug of slugs) await made.run(['tenants', 'create', slug]);
  return made;
}

const slugsOf = async ({ url }: Installation) =>
  (await query(url, 'select slug from svc.tenants order by slug')).map((row) => row.slug);

/** Everything in the database, to see that nothing has changed. */
async function stateOf({ url, dataDir }: Installation): Promise<string> {
  const tables = await query(
    url,
    `select schemaname as schema, tablename as name,
       query_to_xml(format('select * from %I.%I', schemaname, tablename), true, false, '')::text as rows
     from pg_tables where schemaname !~ '^pg_|^information' order by 1, 2`,
  );
  const files = readdirSync(dataDir, { recursive: true }).sort();
  return createHash('sha256')
    .update(JSON.stringify([tables, files]))
    .digest('hex');
}

/** The backup with one entry changed, packed like a valid one. */
async function altered(
  file: string,
  change: (path: string, content: Buffer) => Buffer | null,
): Promise<string> {
  async function* entries(): AsyncGenerator<FileEntry> {
    for await (const entry of readBackup({ file, identities: [] })) {
      const content = change(entry.path, await readWhole(entry.content));
      if (content) yield { ...entry, size: content.length, content: [content] };
    }
  }
  return written(gzipSync(await readWhole(tarBytes(entries()))));
}

function written(bytes: Uint8Array): string {
  const path = join(folder, `changed-${++count}.tar.gz`);
  writeFileSync(path, bytes);
  return path;
}

describe('a damaged backup is refused before anything changes', () => {
  const damages: [string, (file: string) => Promise<string> | string][] = [
    ['cut off', (file) => written(readFileSync(file).subarray(0, -300))],
    ['without its last bytes', (file) => written(readFileSync(file).subarray(0, -4))],
    ['empty', () => written(new Uint8Array())],
    ['not packed', () => written(Buffer.from('something else'))],
    ['another archive', () => written(gzipSync(Buffer.alloc(1024)))],
    ['a byte changed in the packed file', (file) => written(flip(readFileSync(file), 0.5))],
    ['a byte changed in its end', (file) => written(flip(readFileSync(file), 0.97))],
    ['a byte changed before packing', (file) => written(gzipSync(flip(gunzipSync(readFileSync(file)), 0)))],
    [
      'a row changed',
      (file) =>
        altered(file, (path, text) => (path.includes('/tenants/') ? replaced(text, 'ours', 'ourz') : text)),
    ],
    ['a table missing', (file) => altered(file, (path, text) => (path.includes('/tenants/') ? null : text))],
    [
      'a file changed',
      (file) => altered(file, (path, text) => (path === 'files/blob' ? replaced(text, 'b', 'c') : text)),
    ],
    ['a file missing', (file) => altered(file, (path, text) => (path === 'files/blob' ? null : text))],
    ['no manifest', (file) => altered(file, (path, text) => (path === 'manifest.json' ? null : text))],
    [
      'a later format',
      (file) =>
        altered(file, (path, text) =>
          path === 'manifest.json' ? replaced(text, '"format": 2', '"format": 99') : text,
        ),
    ],
  ];
  const flip = (bytes: Buffer, at: number) => {
    const copy = Buffer.from(bytes);
    const place = Math.floor(copy.length * at);
    copy[place] = copy[place]! ^ 0xff;
    return copy;
  };
  const replaced = (text: Buffer, from: string, to: string) => Buffer.from(text.toString().replace(from, to));

  test(damages.map(([how]) => how).join(', '), async () => {
    const source = await withTenants('ours');
    writeFileSync(join(source.dataDir, 'blob'), 'blob');
    const file = await source.backup();
    const target = await withTenants('theirs');
    const before = await stateOf(target);
    for (const [how, damage] of damages) {
      const outcome = await admin(target.env, ['restore', '--from', await damage(file), '--yes']);
      expect([how, outcome.exit, outcome.out]).toEqual([how, 7, '']);
      expect([how, await stateOf(target)]).toEqual([how, before]);
    }
    const absent = await admin(target.env, ['restore', '--from', join(folder, 'absent.tar.gz')]);
    expect(absent.exit).toBe(7);
  });
});

test('a file outside the data dir, or with an excluded name, is refused', async () => {
  const file = await (await withTenants('ours')).backup();
  const target = await installation();
  for (const path of ['../outside', 'a/../../outside', '/outside', 'postgres.json', 'postgres/x', 'a//b']) {
    async function* entries(): AsyncGenerator<FileEntry> {
      yield {
        path: `files/${path}`,
        kind: 'file',
        mode: 0o600,
        modified: new Date(),
        size: 1,
        content: [Buffer.from('x')],
      };
      for await (const entry of readBackup({ file, identities: [] })) yield entry;
    }
    const crafted = written(gzipSync(await readWhole(tarBytes(entries()))));
    const { exit, err } = await admin(target.env, ['restore', '--from', crafted]);
    expect([path, exit, JSON.parse(err.trim().split('\n').at(-1)!).detail]).toEqual([
      path,
      7,
      expect.stringContaining('is not a valid path'),
    ]);
  }
});

test('existing data is replaced only with --yes, and its files are moved aside', async () => {
  const file = await (await withTenants('ours')).backup();
  const target = await withTenants('theirs', 'more');
  await query(target.url, 'create schema app_1; create table app_1.t as select 1 as a; create schema pgboss');
  writeFileSync(join(target.dataDir, 'precious'), 'kept');
  const before = await stateOf(target);
  const refused = await admin(target.env, ['restore', '--from', file]);
  expect([refused.exit, JSON.parse(refused.err)]).toEqual([
    11,
    expect.objectContaining({ code: 'confirmation_required' }),
  ]);
  expect(JSON.parse(refused.err).detail).toContain('2 tenants (more, theirs), 0 users and 1 app schemas');
  expect(await stateOf(target)).toBe(before);

  await target.run(['restore', '--from', file, '--yes']);
  expect(await slugsOf(target)).toEqual(['ours']);
  expect(await query(target.url, `select nspname from pg_namespace where nspname ~ '^app_|pgboss'`)).toEqual(
    [],
  );
  const [kept] = readdirSync(target.dataDir);
  expect(kept).toStartWith('replaced-');
  expect(readFileSync(join(target.dataDir, kept!, 'precious'), 'utf8')).toBe('kept');
});

test('a restore that fails halfway changes nothing', async () => {
  const source = await withTenants('ours');
  await query(source.url, `create schema app_1; create table app_1.t as select 1 as a`);
  writeFileSync(join(source.dataDir, 'blob'), 'new');
  const broken = await altered(await source.backup(), (path, text) => {
    const schema = Buffer.from(
      '{"name":"app_1","beforeRows":["create schema app_1; create table app_1.t (a int)"],"afterRows":[],"last":["select nothing"],"forRowsRole":[]}',
    );
    if (path === 'schemas/app_1.json') return schema;
    if (path !== 'manifest.json') return text;
    const manifest = JSON.parse(text.toString());
    manifest.schemas[0].sha256 = createHash('sha256').update(schema).digest('hex');
    return Buffer.from(JSON.stringify(manifest));
  });
  const target = await withTenants('theirs');
  writeFileSync(join(target.dataDir, 'blob'), 'old');
  const before = await stateOf(target);
  const { exit, err } = await admin(target.env, ['restore', '--from', broken, '--yes']);
  expect([exit, err]).toEqual([1, expect.stringContaining('select nothing')]);
  expect(await stateOf(target)).toBe(before);
  expect(readFileSync(join(target.dataDir, 'blob'), 'utf8')).toBe('old');
});

test('a restore is refused while a server uses the database', async () => {
  const file = await (await withTenants('ours')).backup();
  const target = await installation();
  await target.run(['migrate']);
  await withClient(adminUrl(target.url, 'svc listen'), async () => {
    const { exit, err } = await admin(target.env, ['restore', '--from', file]);
    expect([exit, JSON.parse(err).detail]).toEqual([
      6,
      'A server is running on this database: stop it first.',
    ]);
  });
  await target.run(['restore', '--from', file]);
  expect(await slugsOf(target)).toEqual(['ours']);
});

describe('a backup of another version', () => {
  test('that is older is loaded and then migrated', async () => {
    const older = join(folder, 'migrations');
    mkdirSync(older);
    copyFileSync(join(migrationsDirectory, '0001-foundation.sql'), join(older, '0001-foundation.sql'));
    const source = await installation();
    await migrate({ url: source.url, directory: older, log: () => {} });
    await query(
      source.url,
      `insert into svc.tenants (id, slug, name, created_at) values (gen_random_uuid(), 'old', 'Old', now())`,
    );
    const target = await installation();
    const { migrated } = await target.run(['restore', '--from', await source.backup()]);
    expect(migrated).toEqual(readdirSync(migrationsDirectory).sort().slice(1));
    expect(await slugsOf(target)).toEqual(['old']);
    expect((await target.run(['doctor'])).ok).toBeTrue();
  });

  test('that is newer or has other migrations is refused', async () => {
    const source = await withTenants('ours');
    const target = await withTenants('theirs');
    const before = await stateOf(target);
    await query(source.url, `insert into svc.migrations (name, checksum) values ('9999-later.sql', 'x')`);
    const newer = await admin(target.env, ['restore', '--from', await source.backup(), '--yes']);
    expect([newer.exit, newer.err]).toEqual([6, expect.stringContaining('9999-later.sql')]);
    await query(
      source.url,
      `delete from svc.migrations where name = '9999-later.sql'; update svc.migrations set checksum = 'x'`,
    );
    expect((await admin(target.env, ['restore', '--from', await source.backup(), '--yes'])).exit).toBe(6);
    expect(await stateOf(target)).toBe(before);
  });
});

test('an audit chain broken before the backup is restored unchanged and reported', async () => {
  const source = await withTenants('one', 'two');
  await query(
    source.url,
    `alter table svc.audit_entries disable trigger user; update svc.audit_entries set action = 'x' where seq = 1;
     alter table svc.audit_entries enable trigger user`,
  );
  const target = await installation();
  const { exit, json } = await admin(target.env, ['restore', '--from', await source.backup()]);
  expect([exit, json.audit_breaks]).toEqual([1, [expect.stringContaining('entry 1: was edited')]]);
  expect(await slugsOf(target)).toEqual(['one', 'two']);
});
