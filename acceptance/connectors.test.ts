import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { expectFailure, jsonOutput, type Svc, svcFor } from './support/commands.ts';
import { newTenant, type Tenant } from './support/people.ts';
import { folderOf } from './support/server.ts';
import { describeWarehouses, readerPassword, startWarehouse, type Warehouse } from './support/warehouses.ts';

const adminOf = (t: Tenant): Svc => svcFor(t.server, { token: t.admin.token, tenant: t.id });

const content = `create table sales.orders (id int primary key, customer varchar(100) not null, total numeric(12, 2), at timestamp);
  create view sales.totals as select customer, sum(total) as total from sales.orders group by customer`;
const start = (kind: Warehouse['kind']) => startWarehouse(kind, content);

describeWarehouses('a connector of kind', start, (warehouse, kind) => {
  const create = (svc: Svc, fields: Record<string, string> = {}, stdin = `${readerPassword}\n`) => {
    const flags = {
      kind,
      host: 'localhost',
      port: String(warehouse.port),
      database: warehouse.database,
      username: 'reader',
      tls: 'verify-full',
      'ca-file': join(folderOf({ 'ca.pem': warehouse.ca }), 'ca.pem'),
      ...fields,
    };
    const args = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value]);
    return svc(['connectors', 'create', 'warehouse', ...args, '--password-stdin', '--execute', '--json'], {
      stdin,
    });
  };

  test('connects with a verified certificate, lists tables, and never shows the password', async () => {
    const t = await newTenant();
    const svc = adminOf(t);
    const created = await create(svc);
    expect([created.code, created.stderr]).toEqual([0, '']);
    const tested = await svc(['connectors', 'test', 'warehouse', '--json']);
    const report = tested.json();
    expect(report).toMatchObject({
      server: kind === 'postgres' ? 'PostgreSQL' : 'MariaDB',
      tls: 'TLSv1.3',
      login: { is_superuser: false, can_write: false, tables: 2 },
      warnings: [],
    });
    expect(report.latency_ms).toBeGreaterThan(0);
    const refreshed = await jsonOutput(svc, 'connectors', 'schema', 'refresh', 'warehouse');
    expect(refreshed).toMatchObject({
      tables: 2,
      added: ['sales/orders', 'sales/totals'],
      removed: [],
      changed: [],
    });
    const { items } = await jsonOutput(svc, 'connectors', 'tables', 'warehouse');
    expect(items[0]).toMatchObject({ path: 'sales/orders', kind: 'table', primary_key: ['id'] });
    expect(
      items[0].columns.map(({ name, type }: { name: string; type: string }) => `${name}:${type}`),
    ).toEqual(['id:int', 'customer:text', 'total:float', kind === 'postgres' ? 'at:text' : 'at:timestamptz']);
    expect(items[1]).toMatchObject({ path: 'sales/totals', kind: 'view', primary_key: [] });
    const shown = await jsonOutput(svc, 'connectors', 'get', 'warehouse');
    expect(shown.connection).toMatchObject({ host: 'localhost', has_password: true });
    const audit = await svc(['audit', 'list', '--json']);
    const all = [created, tested, audit].map(({ stdout, stderr }) => stdout + stderr).join();
    expect(all + JSON.stringify(shown) + t.server.output()).not.toContain(readerPassword);
  });

  test('refuses a wrong certificate, a wrong password and a server that is down', async () => {
    const svc = adminOf(await newTenant());
    const attempt = async (fields: Record<string, string>, stdin?: string) => {
      expect((await create(svc, fields, stdin)).code).toBe(0);
      const ran = await expectFailure(svc(['connectors', 'test', 'warehouse']), 13, 'connector_unavailable');
      expect((await svc(['connectors', 'delete', 'warehouse', '--execute'])).code).toBe(0);
      return ran.stderr;
    };
    expect(await attempt({ 'ca-file': '' })).toContain('certificate');
    expect(await attempt({ host: '127.0.0.1' })).toContain('certificate');
    expect(await attempt({}, 'wrong\n')).toContain('refused the login');
    expect(await attempt({ port: '1' })).toContain('Nothing listens');
    expect(await attempt({ host: '169.254.169.254' })).toContain('SVC_CONNECTOR_NETWORKS');
  });

  test('warns of a superuser, of write access and of a connection without TLS', async () => {
    const t = await newTenant();
    await warehouse.query(
      kind === 'postgres'
        ? `create role mighty superuser login password 'mighty-1'`
        : `create user mighty@'%' identified by 'mighty-1'; grant all on *.* to mighty@'%'`,
    );
    const svc = adminOf(t);
    expect((await create(svc, { username: 'mighty', tls: 'disable' }, 'mighty-1\n')).code).toBe(0);
    const report = (await svc(['connectors', 'test', 'warehouse', '--json'])).json();
    expect(report.login).toMatchObject({ is_superuser: true, can_write: true });
    expect(String(report.warnings)).toMatch(/superuser.*can change data.*not encrypted/);
  });

  test('another host needs the password again; a new password is used at once', async () => {
    const svc = adminOf(await newTenant());
    await create(svc, {}, 'wrong\n');
    const update = (...args: string[]) => svc(['connectors', 'update', 'warehouse', ...args, '--execute']);
    await expectFailure(update('--host', 'elsewhere.example.com'), 7, 'validation_failed');
    await expectFailure(svc(['connectors', 'test', 'warehouse']), 13, 'connector_unavailable');
    const args = ['connectors', 'update', 'warehouse', '--password-stdin', '--execute'];
    expect((await svc(args, { stdin: `${readerPassword}\n` })).code).toBe(0);
    expect((await svc(['connectors', 'test', 'warehouse'])).code).toBe(0);
  });
});

test('settings must fit the kind, and a connector without settings cannot be tested', async () => {
  const svc = adminOf(await newTenant());
  const create = (...args: string[]) => svc(['connectors', 'create', ...args, '--execute']);
  await expectFailure(
    create('files', '--kind', 'http', '--host', 'a', '--database', 'b', '--username', 'c'),
    7,
    'validation_failed',
  );
  await expectFailure(create('data', '--kind', 'postgres', '--app', 'shop'), 7, 'validation_failed');
  expect((await create('--name', 'Ticket system', '--kind', 'http')).code).toBe(0);
  await expectFailure(svc(['connectors', 'test', 'ticket-system']), 6, 'connector_not_configured');
});

test("a connector of kind tables opens an app's tables by grants", async () => {
  const t = await newTenant();
  const admin = svcFor(t.server, { token: t.admin.token, tenant: t.id });
  const run = async (...args: string[]) =>
    expect([args, (await admin([...args, '--execute'])).code]).toEqual([args, 0]);
  await run('apps', 'create', '--name', 'Shop', '--slug', 'shop');
  await run('tables', 'create', 'orders', '--app', 'shop', '--column', 'total:int');
  await run('rows', 'insert', 'orders', '--app', 'shop', '--data', '{"total":7}');
  await run('connectors', 'create', 'shop-data', '--kind', 'tables', '--app', 'shop');
  expect((await admin(['connectors', 'test', 'shop-data', '--json'])).json()).toMatchObject({
    login: { tables: 1 },
  });
  expect((await admin(['connectors', 'schema', 'refresh', 'shop-data'])).code).toBe(0);
  const tables = await admin(['connectors', 'tables', 'shop-data', '--json']);
  expect(tables.json()).toMatchObject({ items: [{ path: 'shop/orders', primary_key: ['id'] }] });
  const member = svcFor(t.server, { token: t.member.token, tenant: t.id });
  const list = ['rows', 'list', 'shop/orders', '--connector', 'shop-data'];
  await expectFailure(member(list), 5, 'not_found');
  await run(
    'grants',
    'create',
    '--subject',
    t.member.email,
    '--connector',
    'shop-data',
    '--preset',
    'reader',
    '--scope',
    'shop/orders',
  );
  expect((await member([...list, '--json'])).json()).toMatchObject({ data: [{ total: 7 }] });
});
