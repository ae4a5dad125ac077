import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import mysql from 'mysql2/promise';
import pg from 'pg';
import { hasMariaDb, needsMariaDb, startMariaDb } from '../../scripts/mariadb-server.ts';
import { hasPostgres15, needsPostgres15, startPostgres15 } from './postgres15.ts';
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

/** Each with whether it can be started here, or must be. */
export const warehouseKinds = [
  ['postgres', hasPostgres15 || needsPostgres15],
  ['mysql', hasMariaDb || needsMariaDb],
] as const;

export const readerPassword = 'reader-secret-1';
export const writerPassword = 'writer-secret-1';

export async function startWarehouse(kind: Warehouse['kind']): Promise<Warehouse> {
  return kind === 'postgres' ? startPostgresWarehouse() : startMariaWarehouse();
}

async function startPostgresWarehouse(): Promise<Warehouse> {
  let ca = '';
  const server = await startPostgres15((folder) => {
    const files = createCertificate(folder);
    ca = files.ca;
    return ['ssl=on', `ssl_cert_file=${files.cert}`, `ssl_key_file=${files.key}`];
  });
  const query = async (text: string) => {
    const client = new pg.Client({ connectionString: server.url('postgres') });
    await client.connect();
    await client.query(text);
    await client.end();
  };
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

/** A certificate authority, and a certificate of it for `localhost`. */
function createCertificate(folder: string) {
  const path = (name: string) => join(folder, name);
  const openssl = (line: string) => {
    const ran = Bun.spawnSync(['openssl', ...line.split(' ')], { cwd: folder, stderr: 'pipe' });
    if (ran.exitCode !== 0) throw new Error(`openssl failed: ${ran.stderr}`);
  };
  const key = '-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes';
  openssl(`req -x509 ${key} -keyout ca.key -out ca.crt -days 2 -subj /CN=Warehouse-CA`);
  openssl(
    `req -x509 ${key} -CA ca.crt -CAkey ca.key -keyout db.key -out db.crt -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost -addext basicConstraints=critical,CA:FALSE`,
  );
  const owner = Bun.spawnSync(['chmod', '600', 'db.key'], { cwd: folder });
  if (owner.exitCode !== 0) throw new Error('chmod failed.');
  return { cert: path('db.crt'), key: path('db.key'), ca: readFileSync(path('ca.crt'), 'utf8') };
}

export { hasMariaDb };
