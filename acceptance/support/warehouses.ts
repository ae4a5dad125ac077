import { describe } from 'bun:test';
import mysql from 'mysql2/promise';
import { hasMariaDb, startMariaDb } from '../../scripts/mariadb-server.ts';
import { useFixture } from '../../scripts/use-fixture.ts';
import { createCertificate } from './certificate.ts';
import { queryUrl } from './database.ts';
import { done, newTenant, type Person, type Tenant } from './people.ts';
import { hasPostgres15, startPostgres15 } from './postgres15.ts';
import { temporaryFolder } from './server.ts';

/** A database server outside the platform, with a login that can only read the schema `sales`. */
export interface Warehouse {
  kind: 'postgres' | 'mysql';
  port: number;
  /** The certificate authority of the server's certificate, which is for `localhost`. */
  ca: string;
  database: string;
  query(text: string): Promise<void>;
  stop(): Promise<void>;
}

type Kind = Warehouse['kind'];

const isAvailable: Record<Kind, boolean> = { postgres: hasPostgres15, mysql: hasMariaDb };

export { hasMariaDb };

const kinds = ['postgres', 'mysql'] as const;
export const availableKinds = kinds.filter((kind) => isAvailable[kind]);

/** The tests for a warehouse of each kind, which are skipped where its program is missing. */
export function describeWarehouses(
  name: string,
  start: (kind: Kind) => Promise<Warehouse>,
  tests: (warehouse: Warehouse, kind: Kind) => void,
): void {
  for (const kind of kinds)
    describe.if(isAvailable[kind])(`${name} ${kind}`, () => {
      const warehouse = useFixture(
        () => start(kind),
        (it) => it.stop(),
      );
      tests(warehouse, kind);
    });
}

export const readerPassword = 'reader-secret-1';
const writerPassword = 'writer-secret-1';

export const connectionTo = (
  { port, database }: Pick<Warehouse, 'port' | 'database'>,
  username: 'reader' | 'writer' = 'reader',
) => ({
  host: 'localhost',
  port,
  database,
  username,
  password: username === 'reader' ? readerPassword : writerPassword,
  tls: 'require',
});

export async function startWarehouse(kind: Kind, content?: string): Promise<Warehouse> {
  const warehouse = await (kind === 'postgres' ? startPostgresWarehouse() : startMariaWarehouse());
  if (content !== undefined) await warehouse.query(content);
  return warehouse;
}

async function startPostgresWarehouse(): Promise<Warehouse> {
  let ca = '';
  const server = await startPostgres15((folder) => {
    const files = createCertificate(folder);
    ca = files.ca;
    return ['ssl=on', `ssl_cert_file=${files.cert}`, `ssl_key_file=${files.key}`];
  });
  const query = async (text: string) => void (await queryUrl(server.url('postgres'), text));
  await query(`create role reader login password '${readerPassword}';
    create role writer login password '${writerPassword}';
    create schema sales;
    grant usage on schema sales to reader, writer;
    alter default privileges in schema sales grant select on tables to reader;
    alter default privileges in schema sales grant select, insert, update, delete on tables to writer;
    alter default privileges in schema sales grant usage on sequences to writer`);
  return { kind: 'postgres', port: server.port, ca, database: 'postgres', query, stop: server.stop };
}

async function startMariaWarehouse(): Promise<Warehouse> {
  const folder = temporaryFolder();
  const files = createCertificate(folder);
  const { cert, key } = files;
  const server = await startMariaDb(folder, { cert, key });
  const query = async (text: string) => {
    const { host, port, user } = server;
    const client = await mysql.createConnection({ host, port, user, multipleStatements: true });
    await client.query(text);
    await client.end();
  };
  await query(`create database sales character set utf8mb4;
    create user reader@'%' identified by '${readerPassword}';
    create user writer@'%' identified by '${writerPassword}';
    grant select on sales.* to reader@'%';
    grant select, insert, update, delete on sales.* to writer@'%'`);
  return { kind: 'mysql', port: server.port, ca: files.ca, database: 'sales', query, stop: server.stop };
}

export type WarehouseTenant<T extends Tenant = Tenant> = Awaited<ReturnType<typeof addWarehouse<T>>>;

/** Adds the connector `warehouse` to the tenant; its schema is known. */
export async function addWarehouse<T extends Tenant>(
  warehouse: Warehouse,
  t: T,
  fields: Record<string, unknown> = {},
  login?: 'reader' | 'writer',
) {
  const connection = connectionTo(warehouse, login);
  const body = { name: 'Warehouse', slug: 'warehouse', kind: warehouse.kind, connection, ...fields };
  const { id: connectorId } = await done(t.admin.call('POST', `${t.base}/connectors`, body));
  await done(t.admin.call('POST', `${t.base}/connectors/warehouse/schema/refresh`));
  return {
    t,
    connectorId: connectorId as string,
    grant: async (person: Person, fields: Record<string, unknown> = {}): Promise<string> => {
      const reader = { subject_id: person.id, connector_id: connectorId, preset_id: 'reader' };
      const granted = { ...reader, scope_resource_paths: ['sales/orders'], ...fields };
      return (await done(t.admin.call('POST', `${t.base}/grants`, granted))).id;
    },
    policy: async (fields: Record<string, unknown>): Promise<string> => {
      const named = { name: 'Policy', connector_id: connectorId, resource_path: 'sales/orders', ...fields };
      return (await done(t.admin.call('POST', `${t.base}/access-policies`, named))).id;
    },
  };
}

export const salesOrders = `create table sales.orders (id int primary key, region varchar(20), customer varchar(100) not null,
    email varchar(100), total numeric(12, 2));
  insert into sales.orders values
    (1, 'eu', 'Ada', 'ada@example.com', 10.50), (2, 'eu', 'Bob', 'bob@example.com', 200),
    (3, 'us', 'Zoe', 'zoe@example.com', 1000)`;

export type Opened = Awaited<ReturnType<typeof openWarehouse>>;

/** A database with orders, their lines, a view, visits and a table to change. */
export function startOrders(kind: Warehouse['kind']): Promise<Warehouse> {
  const number = kind === 'postgres' ? 'int generated by default as identity' : 'int auto_increment';
  return startWarehouse(
    kind,
    `create table sales.orders (id ${number} primary key, region varchar(20), customer varchar(100) not null,
       email varchar(100), total numeric(12, 2), paid boolean);
     insert into sales.orders (id, region, customer, email, total, paid) values
       (1, 'eu', 'Ada', 'ada@example.com', 10.50, true), (2, 'eu', 'bob', 'bob@example.com', 200.00, false),
       (3, 'us', 'Zoë', 'zoe@example.com', 1000, true), (4, 'us', 'ada', null, null, null),
       (5, 'EU', 'Eve ', 'eve@example.com', 99.99, false);
     create table sales.lines (order_id int, line int, sku varchar(20), primary key (order_id, line));
     insert into sales.lines values (1, 1, 'a'), (1, 2, 'b'), (2, 1, 'c,d');
     create view sales.totals as select region, total from sales.orders;
     create table sales.visits (id int primary key, placed ${kind === 'postgres' ? 'timestamptz' : 'timestamp'} null);
     insert into sales.visits values (1, '2026-01-31 23:30:10'), (2, '2026-01-31 23:05:00');
     create table sales.changes (id ${number} primary key, region varchar(20) not null, note varchar(100));
     insert into sales.changes (region, note) values ('eu', 'first'), ('us', 'second')`,
  );
}

/** A tenant of its own, with the database behind the connector `warehouse`. */
export async function openWarehouse(
  warehouse: Warehouse,
  connector: Record<string, unknown> = {},
  login?: 'reader' | 'writer',
) {
  const { t, connectorId, grant } = await addWarehouse(warehouse, await newTenant(), connector, login);
  return {
    t,
    connectorId,
    grant: (fields?: Record<string, unknown>) => grant(t.member, { scope_resource_paths: [], ...fields }),
    get: (path: string, headers?: Record<string, string>, by = t.member) =>
      by.call('GET', `/data/${t.id}/_connectors/warehouse/${path}`, undefined, headers),
  };
}

export async function newPreset({ t }: Opened, ...actions: string[]): Promise<string> {
  const body = { name: `p-${actions.join('-')}`, actions };
  return (await t.admin.call('POST', `${t.base}/presets`, body)).body.id;
}
