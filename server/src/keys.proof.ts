import { expect, test } from 'bun:test';
import { copyFileSync, mkdtempSync, readdirSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import { useFolder } from '../../scripts/use-fixture.ts';
import { encrypt } from './core/cipher.ts';
import { platformTenantId } from './core/context.ts';
import { type Db, openControlDatabase } from './core/db.ts';
import { listenForChanges } from './core/invalidation.ts';
import { countSealed, retireGenerations, rotateKey } from './core/key-rotation.ts';
import {
  declareKey,
  declareSealingKey,
  declareSigningKey,
  type Key,
  listGenerations,
  loadKey,
  openKeyRing,
  prepareKeys,
  wrapKeys,
} from './core/keys.ts';
import { createMasterKeyFile, withMasterKey } from './core/master-key.ts';
import { migrate, migrationsDirectory } from './core/migrate.ts';
import { runAsOperator } from './core/mutation.ts';
import { seal, sealingKey, unseal } from './core/seal.ts';
import { freshDatabase } from './drivers/database/testing.ts';
import { keys } from './modules.ts';
import { silentLog, testDeps, useTestDatabase } from './testing.ts';

const database = useTestDatabase();
const folder = useFolder();

const minute = 60_000;
const operator = (db: Db = database.db) => ({ db, ...testDeps });
const rotate = (key: Key, db?: Db) =>
  runAsOperator(operator(db), { name: 'keys.rotate', auditTenantId: platformTenantId }, (ctx) =>
    rotateKey(ctx, key),
  );
const retire = (key: Key, afterMs: number) =>
  retireGenerations({ ...operator(), now: () => new Date(Date.now() + afterMs) }, [key]);
const generationsOf = async (key: Key) =>
  (await listGenerations(database.db, key)).map(({ generation }) => generation);
const activate = (key: Key) =>
  sql`update svc.key_generations set active_at = now() where name = ${key.name}`.execute(database.db);

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 30_000;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error('The condition was not met.');
    await Bun.sleep(20);
  }
}

test('every sealed column belongs to a declared key, and names are unique', async () => {
  const { rows } = await sql<{ name: string }>`
    select table_name || '.' || column_name as name from information_schema.columns
    where table_schema = 'svc' and column_name like '%\\_sealed' order by 1`.execute(database.db);
  const declared = keys.flatMap(({ columns }) => Object.keys(columns));
  expect(declared.sort()).toEqual(rows.map(({ name }) => name));
  expect(new Set(keys.map(({ name }) => name)).size).toBe(keys.length);
  for (const key of keys) expect(await countSealed(database.db, key)).toEqual(new Map());
});

test('servers use a new generation only after all of them know it, without a restart', async () => {
  const key = declareKey({ name: 'test.secret', protects: 'a test', acceptedSeconds: 3600 });
  const changes = listenForChanges({ url: database.url, log: silentLog });
  await changes.start();
  const ring = openKeyRing({ db: database.db, invalidation: changes, log: silentLog });
  const live = await ring.follow(key);
  const before = live.current();
  const { activeAt } = await rotate(key);
  await until(() => live.accepted().length === 2);
  if (activeAt.getTime() > Date.now()) expect(live.current()).toBe(before);
  await until(() => live.current() !== before);
  expect(Date.now()).toBeGreaterThanOrEqual(activeAt.getTime());
  expect(live.accepted()).toEqual([live.current(), before]);
  await retire(key, 61 * minute);
  await until(() => live.accepted().length === 1);
  expect(live.current()).not.toBe(before);
  ring.stop();
  await changes.stop();
});

test('a signing key is published before it is used, and accepted as long as its tokens live', async () => {
  const acceptedSeconds = 24 * 3600;
  const key = declareSigningKey({
    name: 'test.signing',
    protects: 'a test',
    create: () => 'x',
    acceptedSeconds,
  });
  await loadKey(database.db, key);
  const { activeAt } = await rotate(key);
  expect(activeAt.getTime() - Date.now()).toBeGreaterThan(5 * minute);
  await retire(key, 24 * 60 * minute);
  expect(await generationsOf(key)).toEqual([2, 1]);
  await retire(key, 24 * 60 * minute + 11 * minute);
  expect(await generationsOf(key)).toEqual([2]);
});

test('sealed values are sealed again, and the previous generation is deleted when none is left', async () => {
  const { db } = database;
  await sql`create table svc.test_secrets (id int primary key, value_sealed bytea)`.execute(db);
  const columns = { 'test_secrets.value_sealed': "'secret ' || id" };
  const key = declareSealingKey({ name: 'test.sealing', protects: 'a test', columns });
  const put = async (id: number, boundTo = `secret ${id}`) => {
    const sealed = seal(await sealingKey(db, key), { text: `text ${id}`, boundTo });
    await sql`insert into svc.test_secrets values (${id}, ${sealed})
      on conflict (id) do update set value_sealed = excluded.value_sealed`.execute(db);
  };
  const open = async () => {
    const loaded = await sealingKey(db, key);
    const { rows } = await sql<{ id: number; sealed: Buffer }>`
      select id, value_sealed as sealed from svc.test_secrets where value_sealed is not null order by id`.execute(
      db,
    );
    return rows.map(({ id, sealed }) => unseal(loaded, { sealed, boundTo: `secret ${id}` }));
  };
  const ids = Array.from({ length: 450 }, (_, id) => id);
  for (const id of ids) await put(id);
  await sql`insert into svc.test_secrets values (1000, null)`.execute(db);
  const texts = ids.map((id) => `text ${id}`);
  await rotate(key);
  expect(await open()).toEqual(texts);
  await retire(key, 0);
  expect(await countSealed(db, key)).toEqual(new Map([[1, 450]]));
  await activate(key);
  await put(0);
  expect(await countSealed(db, key)).toEqual(
    new Map([
      [1, 449],
      [2, 1],
    ]),
  );
  await retire(key, 0);
  expect(await countSealed(db, key)).toEqual(new Map([[2, 450]]));
  expect(await open()).toEqual(texts);
  expect(await generationsOf(key)).toEqual([2, 1]);
  await retire(key, 61 * minute);
  expect(await generationsOf(key)).toEqual([2]);

  // A value that cannot be opened keeps its generation.
  await put(1001, 'another row');
  await rotate(key);
  await activate(key);
  await retire(key, 61 * minute);
  expect(await countSealed(db, key)).toEqual(
    new Map([
      [2, 1],
      [3, 450],
    ]),
  );
  expect(await generationsOf(key)).toEqual([3, 2]);
  await sql`drop table svc.test_secrets`.execute(db);
});

test('a master key encrypts the keys in the database, and they cannot be read without it', async () => {
  const fresh = await freshDatabase();
  await migrate({ url: fresh.controlUrl, directory: migrationsDirectory, log: () => {} });
  const control = openControlDatabase(fresh.controlUrl, { connectionsMax: 5, onError: () => {} });
  const key = declareKey({ name: 'test.wrapped', protects: 'a test', acceptedSeconds: 3600 });
  const value = (await loadKey(control.db, key)).current();
  const path = join(folder, 'master.key');
  const { id } = createMasterKeyFile(path);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(() => createMasterKeyFile(path)).toThrow('EEXIST');

  const db = withMasterKey(control.db, path);
  await prepareKeys(db, [key]);
  const { rows } = await sql<{ value: string; master_key: string }>`
    select value, master_key from svc.key_generations where name = ${key.name}`.execute(db);
  expect(rows).toMatchObject([{ master_key: id }]);
  expect(rows[0]?.value).not.toContain(value);
  expect((await loadKey(db, key)).current()).toBe(value);
  const tx = await db.startTransaction().execute();
  expect((await loadKey(tx, key)).current()).toBe(value);
  await tx.rollback().execute();
  await rotate(key, db);
  expect((await loadKey(db, key)).accepted()).toHaveLength(2);

  const startWith = (file: string | undefined) => prepareKeys(withMasterKey(control.db, file), [key]);
  await expect(startWith(undefined)).rejects.toThrow(
    `SVC_MASTER_KEY_FILE is required: the keys in the database are encrypted with the master key ${id}.`,
  );
  const missing = join(folder, 'missing.key');
  await expect(startWith(missing)).rejects.toThrow(
    `SVC_MASTER_KEY_FILE names ${missing}, which cannot be read`,
  );
  const broken = join(folder, 'broken.key');
  writeFileSync(broken, 'not a key');
  await expect(startWith(broken)).rejects.toThrow('which does not contain 32 bytes in base64');
  const other = join(folder, 'other.key');
  const { id: otherId } = createMasterKeyFile(other);
  await expect(startWith(other)).rejects.toThrow(`which contains the master key ${otherId}, but the keys`);

  // The file is replaced while a server runs; then the keys are encrypted again.
  const previous = join(folder, 'previous.key');
  renameSync(path, previous);
  renameSync(other, path);
  expect((await loadKey(db, key)).accepted()).toHaveLength(2);
  expect(await wrapKeys(withMasterKey(control.db, path), withMasterKey(control.db, previous))).toBe(2);
  expect((await loadKey(db, key)).accepted()).toContain(value);
  await startWith(path);
  await control.close();
  await fresh.drop();
});

test('the migration moves present keys, and marks present values with their generation', async () => {
  const directory = mkdtempSync(join(folder, 'migrations-'));
  for (const name of readdirSync(migrationsDirectory).filter((file) => file < '0027'))
    copyFileSync(join(migrationsDirectory, name), join(directory, name));
  const fresh = await freshDatabase();
  await migrate({ url: fresh.controlUrl, directory, log: () => {} });
  const { db, close } = openControlDatabase(fresh.controlUrl, { connectionsMax: 2, onError: () => {} });
  const key = keys.find(({ name }) => name === 'git.sealing_key') as Key<string>;
  const secret = key.create(null) as string;
  const [tenant, user, link] = [Bun.randomUUIDv7(), Bun.randomUUIDv7(), Bun.randomUUIDv7()];
  const sealed = encrypt(Buffer.from(secret, 'base64url'), { text: 'token', boundTo: `${link} token` });
  await sql`insert into svc.platform_keys (name, value)
    values (${key.name}, ${JSON.stringify(secret)}), ('seeded_admin', ${user})`.execute(db);
  await sql`insert into svc.tenants (id, slug, name, created_at) values (${tenant}, 'one', 'one', now())`.execute(
    db,
  );
  await sql`insert into svc.users (id, email, name, created_at) values (${user}, 'a@example.test', 'A', now())`.execute(
    db,
  );
  await sql`insert into svc.memberships (tenant_id, user_id, role, created_at)
    values (${tenant}, ${user}, 'tenant_member', now())`.execute(db);
  await sql`insert into svc.git_links (id, tenant_id, user_id, host, account_id, login, kind, token_sealed, linked_at)
    values (${link}, ${tenant}, ${user}, 'https://github.com', 1, 'octocat', 'user', ${sealed}, now())`.execute(
    db,
  );

  await migrate({ url: fresh.controlUrl, directory: migrationsDirectory, log: () => {} });
  const { rows } = await sql<{ sealed: Buffer }>`select token_sealed as sealed from svc.git_links`.execute(
    db,
  );
  const opened = unseal(await sealingKey(db, key), { sealed: rows[0]!.sealed, boundTo: `${link} token` });
  expect(opened).toBe('token');
  const left = await sql<{ name: string }>`select name from svc.platform_keys
    where name not in ('rows_role', 'rows_password')`.execute(db);
  expect(left.rows).toEqual([{ name: 'seeded_admin' }]);
  await close();
  await fresh.drop();
});
