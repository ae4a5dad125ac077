import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { chmodSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { anchorsPath } from '../../core/audit-verify.ts';
import { placeholderCertificate } from '../../drivers/certificates/https-server.ts';
import { withClient } from '../../drivers/database/connect.ts';
import { type FreshDatabase, freshDatabase, query, temporaryFolder } from '../../drivers/database/testing.ts';
import { adminUrl, openAdminDatabase } from '../system.ts';
import { admin } from '../testing.ts';

const folder = temporaryFolder();
const databases: FreshDatabase[] = [];
let template = '';
let tenantId = '';
let count = 0;

/** Three tenants, so three entries in the chain of the platform, copied for each test. */
beforeAll(async () => {
  const fresh = await freshDatabase();
  const env = environment(fresh);
  for (const slug of ['one', 'two', 'three']) await admin(env, ['tenants', 'create', slug]);
  [{ tenant_id: tenantId }] = await query(fresh.controlUrl, 'select tenant_id from svc.audit_heads');
  template = fresh.name;
});
afterAll(async () => {
  for (const database of databases) await database.drop();
  await folder.remove();
});

function environment(database: FreshDatabase) {
  const dataDir = join(folder.path, `data-${++count}`);
  mkdirSync(dataDir, { mode: 0o700 });
  return { SVC_DATABASE_URL: database.controlUrl, SVC_DATA_DIR: dataDir, SVC_PORT: '1' };
}

async function system() {
  const database = await freshDatabase({ template });
  databases.push(database);
  const env = environment(database);
  const change = (sql: string) => query(database.controlUrl, sql);
  const doctor = async (more: Record<string, string> = {}) => {
    const { exit, json } = await admin({ ...env, ...more }, ['doctor']);
    const find = (name: string) => json.checks.find((check: { name: string }) => check.name === name);
    return { exit, json, find };
  };
  return { database, env, change, doctor };
}

const unguarded = (sql: string) =>
  `alter table svc.audit_entries disable trigger user; ${sql}; alter table svc.audit_entries enable trigger user`;

test('a healthy system has no problems, and every check has a detail', async () => {
  const { doctor } = await system();
  const { exit, json } = await doctor();
  expect([exit, json.ok]).toEqual([0, true]);
  const names = json.checks.map((check: { name: string }) => check.name);
  expect(names).toEqual([
    'configuration',
    'data dir',
    'object store',
    'address',
    'apps domain',
    'server',
    'openid provider',
    'certificates',
    'mail',
    'runtime',
    'server user',
    'git sandbox',
    'database',
    'migrations',
    'rows role',
    'raw databases',
    'apps of another runtime',
    'git host',
    'other servers',
    'clock',
    'workers',
    'keys',
    'audit chains',
    'outbox',
    'tenant admins',
    'tables',
    'table definitions',
  ]);
  for (const { status, detail, hint } of json.checks) {
    expect(detail).not.toBe('');
    expect(['ok', 'warning']).toContain(status);
    expect(typeof hint).toBe('string');
  }
});

describe('the check of audit chains finds', () => {
  test.each([
    [
      'an edited entry',
      `update svc.audit_entries set actor_name = 'nobody' where seq = 2`,
      'entry 2: was edited',
    ],
    [
      'a deleted entry',
      'delete from svc.audit_entries where seq = 2',
      'entry 3: entries before it are missing',
    ],
    [
      'a cut tail',
      'delete from svc.audit_entries where seq = 3',
      'the last entries are missing (head 3, found 2)',
    ],
    [
      'entries in another order',
      'update svc.audit_entries set seq = 9 where seq = 1; update svc.audit_entries set seq = 1 where seq = 2; update svc.audit_entries set seq = 2 where seq = 9',
      'entry 1: does not follow the entry before it',
    ],
  ])('%s', async (_, tampering, detail) => {
    const { change, doctor } = await system();
    await change(unguarded(tampering));
    const { exit, json, find } = await doctor();
    expect([exit, json.ok, find('audit chains').status]).toEqual([1, false, 'problem']);
    expect(find('audit chains').detail).toContain(`tenant ${tenantId}`);
    expect(find('audit chains').detail).toContain(detail);
    expect(find('audit chains').hint).not.toBe('');
  });

  test('a rewritten chain, because it differs from its anchor', async () => {
    const { env, doctor } = await system();
    writeFileSync(
      anchorsPath(env.SVC_DATA_DIR),
      `${JSON.stringify({ tenantId, seq: 2, hash: 'another' })}\n`,
    );
    expect((await doctor()).find('audit chains').detail).toContain('entry 2: differs from its anchor');
  });
});

test('a row role that can use or read the control schema is a problem', async () => {
  const { change, doctor } = await system();
  const before = await doctor();
  const role = /^(\S+) can log in/.exec(before.find('rows role').detail)?.[1];
  await change(`grant usage on schema svc to ${role}`);
  expect((await doctor()).find('rows role')).toMatchObject({
    status: 'problem',
    hint: expect.stringContaining('revoke'),
  });
  await change(`grant select on svc.users to ${role}`);
  const { exit, find } = await doctor();
  expect([exit, find('rows role').status]).toEqual([1, 'problem']);
  expect(find('rows role').detail).toContain('svc.users');
  await change(find('rows role').hint);
  expect((await doctor()).exit).toBe(0);
});

test('pending, changed and newer migrations are found', async () => {
  const { change, doctor } = await system();
  await change(`insert into svc.migrations (name, checksum) values ('9999-later.sql', 'x')`);
  expect((await doctor()).find('migrations')).toMatchObject({
    status: 'warning',
    detail: expect.stringContaining('9999-later.sql'),
  });
  await change(`update svc.migrations set checksum = 'x' where name = '0002-grants.sql'`);
  expect((await doctor()).find('migrations').detail).toStartWith(
    'Changed after they were applied: 0002-grants.sql',
  );
  await change(`delete from svc.migrations where name = '0002-grants.sql'`);
  const { exit, find } = await doctor();
  expect([exit, find('migrations').detail]).toEqual([1, 'Not applied: 0002-grants.sql.']);
  expect(find('migrations').hint).toContain('svc-admin migrate');
});

test('late effects are a warning, and a problem while a server runs', async () => {
  const { database, change, doctor } = await system();
  await change(`update svc.outbox set created_at = now() - interval '1 hour', last_error = 'no way'`);
  expect((await doctor()).find('outbox')).toMatchObject({
    status: 'warning',
    detail: expect.stringContaining('no way'),
  });
  await withClient(adminUrl(database.controlUrl, 'svc queue'), async () => {
    expect((await doctor()).find('outbox').status).toBe('problem');
  });
});

test('files readable and folders writable by other users are problems', async () => {
  const { env, doctor } = await system();
  const file = join(env.SVC_DATA_DIR, 'local-login.json');
  writeFileSync(file, '{}', { mode: 0o644 });
  const { exit, find } = await doctor();
  expect([exit, find('data dir').status, find('data dir').hint]).toEqual([1, 'problem', `chmod 600 ${file}`]);
  chmodSync(file, 0o600);
  expect((await doctor()).find('data dir').status).toBe('ok');
  chmodSync(env.SVC_DATA_DIR, 0o777);
  expect((await doctor()).find('data dir').status).toBe('problem');
});

test('an invalid configuration is the only problem, because nothing else is checked', async () => {
  const { doctor } = await system();
  const { exit, json, find } = await doctor({ SVC_PORT: 'many' });
  expect([exit, find('configuration').detail]).toEqual([1, 'SVC_PORT must be a port number.']);
  expect(json.checks.filter((check: { status: string }) => check.status === 'problem')).toHaveLength(1);
});

test('an unreachable database is a problem, reported without its password', async () => {
  const { doctor } = await system();
  const { exit, find } = await doctor({ SVC_DATABASE_URL: 'postgresql://someone:hunter2@127.0.0.1:1/main' });
  expect([exit, find('database').status]).toEqual([1, 'problem']);
  expect(JSON.stringify(find('database'))).not.toContain('hunter2');
});

test('statements of the operator have no time limit', async () => {
  const { database } = await system();
  const control = openAdminDatabase(database.controlUrl);
  const { rows } = await control.pool.query("select current_setting('statement_timeout') as limit");
  await control.close();
  expect([rows[0].limit, control.pool.options.query_timeout ?? 0]).toEqual(['0', 0]);
});

test('a data dir that does not exist is no problem and is not created', async () => {
  const unused = { SVC_DATA_DIR: join(folder.path, 'unused'), SVC_PORT: '1' };
  const { exit, json } = await admin(unused, ['doctor']);
  expect([exit, json.ok]).toEqual([0, true]);
  expect(existsSync(unused.SVC_DATA_DIR)).toBeFalse();
});

test('the OpenID provider must respond with the configured issuer', async () => {
  const { doctor } = await system();
  const provider = Bun.serve({ port: 0, fetch: () => Response.json({ issuer: 'http://someone.else' }) });
  const env = (issuer: string) => ({
    SVC_OIDC_ISSUER: issuer,
    SVC_OIDC_CLIENT_ID: 'a',
    SVC_OIDC_CLIENT_SECRET: 'b',
  });
  const issuer = `http://127.0.0.1:${provider.port}`;
  expect((await doctor(env(issuer))).find('openid provider').detail).toContain('http://someone.else');
  provider.reload({ fetch: () => Response.json({ issuer }) });
  expect((await doctor(env(issuer))).find('openid provider').status).toBe('ok');
  await provider.stop(true);
  expect((await doctor(env(issuer))).find('openid provider').status).toBe('problem');
});

test('an object store that cannot be written to and read from is a problem', async () => {
  const { env, doctor } = await system();
  const objects = join(env.SVC_DATA_DIR, 'objects');
  expect((await doctor()).find('object store').detail).toBe(`There are no objects in ${objects} yet.`);
  expect(existsSync(objects)).toBeFalse();
  mkdirSync(objects, { mode: 0o700 });
  const usable = await doctor();
  expect(usable.find('object store')).toMatchObject({
    status: 'ok',
    detail: `Objects are files in ${objects}.`,
  });
  const s3 = {
    SVC_OBJECT_STORE: 's3://objects?endpoint=http://127.0.0.1:1',
    AWS_ACCESS_KEY_ID: 'someone',
    AWS_SECRET_ACCESS_KEY: 'hunter2',
  };
  const away = await doctor(s3);
  expect([away.exit, away.find('object store').status]).toEqual([1, 'problem']);
  expect(away.find('object store').hint).toContain('AWS_ACCESS_KEY_ID');
  expect(JSON.stringify(away.json)).not.toContain('hunter2');
  rmSync(objects, { recursive: true });
  writeFileSync(objects, 'in the way', { mode: 0o600 });
  const blocked = await doctor();
  expect([blocked.exit, blocked.find('object store').status]).toEqual([1, 'problem']);
});

test('a public URL that users cannot reach is a warning', async () => {
  const { doctor } = await system();
  const statusOf = async (env: Record<string, string>) => (await doctor(env)).find('address').status;
  expect(await statusOf({ SVC_HOST: '0.0.0.0', SVC_PORT: '4400' })).toBe('warning');
  expect(await statusOf({ SVC_BASE_URL: 'http://svc.example.com', SVC_PORT: '4400' })).toBe('warning');
  expect(await statusOf({ SVC_BASE_URL: 'http://localhost:9', SVC_PORT: '4400' })).toBe('warning');
  expect(await statusOf({ SVC_BASE_URL: 'https://svc.example.com', SVC_PORT: '4400' })).toBe('ok');
});

test('a domain that apps share with the platform is a warning', async () => {
  const { doctor } = await system();
  const check = async (base: string, apps: string) =>
    (await doctor({ SVC_BASE_URL: base, SVC_APPS_DOMAIN: apps })).find('apps domain').status;
  expect(await check('https://svc.example.com', 'apps.example.com')).toBe('warning');
  expect(await check('https://example.co.uk', 'example.co.uk')).toBe('warning');
  expect(await check('https://svc.example.com', 'example-apps.com')).toBe('ok');
  expect(await check('https://svc.one.co.uk', 'apps.two.co.uk')).toBe('ok');
  expect(await check('http://localhost:4400', 'apps.localhost')).toBe('ok');
});

test('live apps built for another runtime are listed', async () => {
  const { change, doctor } = await system();
  await change(`with o as (insert into svc.users (id, email, name, created_at)
      values (gen_random_uuid(), 'runs@example.test', 'R', now()) returning id),
    a as (insert into svc.apps (id, tenant_id, slug, name, owner_id, owner_since, created_at, updated_at, runtime)
      select gen_random_uuid(), t.id, 'shop', 'Shop', o.id, now(), now(), now(), 'running' from o, svc.tenants t
      where t.slug = 'one' returning *)
    insert into svc.deployments (id, tenant_id, app_id, seq, kind, trigger, state, method, source, runtime, created_at)
      select gen_random_uuid(), tenant_id, id, 1, 'deploy', 'person', 'live', 'docker', 'upload', 'docker', now() from a`);
  await change(
    'update svc.apps a set live_deployment_id = d.id from svc.deployments d where d.app_id = a.id',
  );
  expect((await doctor()).find('apps of another runtime')).toMatchObject({
    status: 'warning',
    detail: expect.stringContaining('one/shop'),
  });
});

describe('the check of raw databases', () => {
  const withRow = `with o as (insert into svc.users (id, email, name, created_at)
      values (gen_random_uuid(), 'raw@example.test', 'R', now()) returning id),
    a as (insert into svc.apps (id, tenant_id, slug, name, owner_id, owner_since, created_at, updated_at)
      select gen_random_uuid(), t.id, 'shop', 'Shop', o.id, now(), now(), now() from o, svc.tenants t
      where t.slug = 'one' returning *)
    insert into svc.raw_databases (app_id, tenant_id, database, state, password_sealed, connections_max, address,
        enabled_by, enabled_at, is_made)
      select id, tenant_id, 'svc_raw_' || md5(id::text), 'ready', '', 5, 'postgresql://localhost/', owner_id, now(), true
      from a returning database`;

  test('succeeds when no app has one', async () => {
    const { doctor } = await system();
    expect((await doctor()).find('raw databases')).toMatchObject({ status: 'ok' });
  });

  test('finds a server that does not respond', async () => {
    const { doctor } = await system();
    const { exit, find } = await doctor({ SVC_RAW_DATABASE_URL: 'postgresql://a:b@127.0.0.1:1/c' });
    expect([exit, find('raw databases').status]).toEqual([1, 'problem']);
    expect(find('raw databases').hint).toContain('SVC_RAW_DATABASE_URL');
  });

  test('finds a missing database, and warns when they share the control server', async () => {
    const { doctor, change, database } = await system();
    const [{ database: name }] = await change(withRow);
    const missing = (await doctor()).find('raw databases');
    expect([missing.status, missing.detail]).toEqual(['problem', `Missing on the server: ${name}.`]);

    await query(database.adminUrl, `create database ${name}`);
    await query(database.adminUrl, `revoke connect on database ${name} from public`);
    const shared = (await doctor()).find('raw databases');
    expect([shared.status, shared.hint]).toEqual([
      'warning',
      expect.stringContaining('SVC_RAW_DATABASE_URL'),
    ]);
    const elsewhere = (await doctor({ SVC_RAW_DATABASE_URL: database.controlUrl })).find('raw databases');
    expect(elsewhere.status).toBe('ok');
    await query(database.adminUrl, `drop database ${name}`);
  });

  test('finds a server where every login can connect to other databases', async () => {
    const { doctor, database } = await system();
    await query(database.adminUrl, `create database open_${database.name}`);
    const found = (await doctor({ SVC_RAW_DATABASE_URL: database.controlUrl })).find('raw databases');
    await query(database.adminUrl, `drop database open_${database.name}`);
    expect([found.status, found.hint]).toEqual(['problem', expect.stringContaining('revoke connect')]);
  });
});

test('HTTPS port, certificate files and certificate authority are checked', async () => {
  const { doctor } = await system();
  const found = async (env: Record<string, string>) => (await doctor(env)).find('certificates');
  const https = { SVC_HTTPS_PORT: '4443' };
  expect(await found(https)).toMatchObject({ status: 'warning', detail: expect.stringContaining('4443') });
  const directory = Bun.serve({ port: 0, fetch: () => Response.json({ newOrder: 'here' }) });
  const acme = { SVC_ACME_DIRECTORY: directory.url.href };
  expect(await found(acme)).toMatchObject({ status: 'warning' });
  expect(await found({ ...https, ...acme })).toMatchObject({ status: 'ok' });
  await directory.stop(true);
  expect(await found({ ...https, ...acme })).toMatchObject({
    status: 'problem',
    detail: expect.stringContaining('is unreachable'),
  });
  const [cert, key] = [join(folder.path, 'cert.pem'), join(folder.path, 'key.pem')];
  const files = { ...https, SVC_TLS_CERT_FILE: cert, SVC_TLS_KEY_FILE: key };
  expect(await found(files)).toMatchObject({ status: 'problem' });
  const over = placeholderCertificate();
  writeFileSync(cert, over.cert);
  writeFileSync(key, placeholderCertificate().key);
  expect((await found(files)).detail).toContain('is not the key of');
  writeFileSync(key, over.key);
  expect((await found(files)).detail).toContain('expired at');
});

test('a definition without its table, and a table without its definition, are problems', async () => {
  const { doctor, change } = await system();
  const check = async () => {
    const { find, exit } = await doctor();
    const { status, detail } = find('table definitions');
    return [exit, status, detail];
  };
  const app = '0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b31';
  const table = `app_${app.replaceAll('-', '')}.t_${'a'.repeat(32)}`;
  await change(`create schema app_${app.replaceAll('-', '')}`);
  await change(`create table ${table} (c1 int)`);
  expect(await check()).toEqual([1, 'problem', `${table} has no definition.`]);
  await change(`drop table ${table}`);
  expect(await check()).toEqual([0, 'ok', 'The 0 tables of apps are as defined.']);
  await change(`with o as (insert into svc.users (id, email, name, created_at)
      values (gen_random_uuid(), 'tables@example.test', 'T', now()) returning id),
    a as (insert into svc.apps (id, tenant_id, slug, name, owner_id, owner_since, created_at, updated_at)
      select '${app}', t.id, 'shop', 'Shop', o.id, now(), now(), now() from o, svc.tenants t
      where t.slug = 'one' returning *)
    insert into svc.app_tables (id, tenant_id, app_id, name, rules, columns_made, attributes_made, created_by,
        created_at, updated_at)
      select gen_random_uuid(), tenant_id, id, 'orders', '{}', 1, 1, owner_id, now(), now() from a`);
  expect(await check()).toEqual([1, 'problem', 'shop/orders has no table in PostgreSQL.']);
});

test('a change of tables that waits for the other database is a problem, with its reason', async () => {
  const { doctor, change } = await system();
  const intent = (id: number, age: string, undone: string) =>
    change(`insert into svc.table_intents (id, tenant_id, app_ids, epoch, statements, table_ids, before, created_at,
      last_error, undone_at) values ('0198c1f2-7b1e-7c3a-9d52-0c5e8f1a2b3${id}', '${tenantId}', '{}', '', '[]', '{}',
      '[]', now() - interval '${age}', 'connect ECONNREFUSED', ${undone})`);
  await intent(1, '1 second', 'null');
  await intent(2, '1 minute', 'now()');
  expect((await doctor()).find('table definitions').status).toBe('ok');
  await intent(3, '1 minute', 'null');
  const { status, detail } = (await doctor()).find('table definitions');
  expect(status).toBe('problem');
  expect(detail).toMatch(/^the change 0198c1f2-\S+b33 of \S+ is not finished .*\(connect ECONNREFUSED\)\.$/);
});

test('a tenant whose only admin a directory has deactivated is named, and the operator activates them', async () => {
  const { doctor, change, env } = await system();
  const user = ['--user', 'ann@example.test'];
  await admin(env, ['users', 'create', 'ann@example.test']);
  const set = (role: string) => admin(env, ['members', 'set', '--tenant', 'one', ...user, '--role', role]);
  await set('tenant_admin');
  expect((await doctor()).find('tenant admins').status).toBe('ok');
  await change('update svc.memberships set deactivated_at = now()');
  expect((await doctor()).find('tenant admins')).toMatchObject({
    status: 'warning',
    detail: 'Without an active admin: one',
    hint: expect.stringContaining('svc-admin members set'),
  });
  await set('tenant_admin');
  expect((await doctor()).find('tenant admins').status).toBe('ok');
  const { count } = (
    await change('select count(*)::int from svc.memberships where deactivated_at is null')
  )[0];
  expect(count).toBe(1);
});
