import { afterAll, beforeAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import mysql from 'mysql2/promise';
import pino from 'pino';
import { hasMariaDb, type MariaDbServer, startMariaDb } from '../../../../scripts/mariadb-server.ts';
import { sqlState } from '../../core/db.ts';
import { parseNetworks } from '../../core/ip-networks.ts';
import { Failure } from '../../core/problem.ts';
import { type TemporaryFolder, temporaryFolder } from '../database/testing.ts';
import { type ConnectorDatabases, createConnectorDatabases, createConnectorNetworks } from './databases.ts';
import type { ConnectorTarget } from './types.ts';

let folder: TemporaryFolder;
let server: MariaDbServer;
let databases: ConnectorDatabases;
let lookups = 0;

const available = test.if(hasMariaDb);

beforeAll(async () => {
  if (!hasMariaDb) return;
  folder = temporaryFolder();
  server = await startMariaDb(join(folder.path, 'mariadb'));
  const { host, port, user } = server;
  const client = await mysql.createConnection({ host, port, user, multipleStatements: true });
  await client.query(`create database shop; create table shop.x (a int);
    create user svc@'%' identified by 'secret'; grant all on shop.* to svc@'%'`);
  await client.end();
  databases = createConnectorDatabases({
    networks: createConnectorNetworks({
      allowed: parseNetworks('127.0.0.0/8'),
      ownDatabases: [],
      // A name that points elsewhere at the second look.
      lookUp: async () => (++lookups % 2 === 1 ? ['127.0.0.1'] : ['192.0.2.1']),
    }),
    statementMsMax: 400,
    log: pino({ level: 'silent' }),
  });
});
afterAll(async () => {
  databases?.close();
  await server?.stop();
  await folder?.remove();
});

function target(id: string, fields: Partial<ConnectorTarget> = {}): ConnectorTarget {
  return {
    id,
    version: 0,
    kind: 'mysql',
    settings: {
      host: 'db.example.com',
      port: server.port,
      database: 'shop',
      username: 'svc',
      tls: 'disable',
      ca_certificate: '',
    },
    password: 'secret',
    ...fields,
  };
}

const errorOf = (work: Promise<unknown>) => work.then(() => null).catch((error: unknown) => error);

available('statements are read-only and end in time, and the connection goes on', async () => {
  const { reading, writing } = databases.of(target('a'));
  expect(sqlState(await errorOf(reading.run('read', 'insert into x values (1)', [])))).toBe('25006');
  expect(sqlState(await errorOf(reading.run('read', 'select sleep(5) from (select 1) x', [])))).toBe('57014');
  const inTransaction = reading.transaction(async (tx) => {
    await tx.query('insert into x values (1)', []);
    return { end: 'commit', value: null };
  });
  expect(sqlState(await errorOf(inTransaction))).toBe('25006');
  const written = await writing.transaction(async (tx) => {
    await tx.query('insert into x values (1)', []);
    return { end: 'rollback', value: 'written' };
  });
  expect(written).toBe('written');
  expect((await reading.run('read', 'select $1', ['ok'])).rows).toEqual([['ok']]);
});

available('a name is resolved once for a connection, and the checked address is used', async () => {
  lookups = 0;
  await databases.of(target('b')).reading.run('read', 'select 1', []);
  expect(lookups).toBe(1);
});

available('too many requests at once are refused, and others are served', async () => {
  lookups = 0;
  const { reading } = databases.of(target('c', { settings: { ...target('c').settings, host: '127.0.0.1' } }));
  const results = await Promise.all(
    Array.from({ length: 60 }, () => errorOf(reading.run('read', 'select sleep(0.05)', []))),
  );
  const refused = results.filter(
    (error) => error instanceof Failure && error.code === 'connector_unavailable',
  );
  const served = results.filter((error) => error === null);
  // On a busy machine a few of the waiting ones have waited too long.
  expect(refused.length).toBeGreaterThanOrEqual(60 - 4 - 32);
  expect(served.length).toBeGreaterThanOrEqual(4);
  expect(refused.length + served.length).toBe(60);
});

available('new settings close the connections with the old ones', async () => {
  const settings = { ...target('d').settings, host: '127.0.0.1' };
  const before = databases.of(target('d', { settings }));
  const pid = (await before.reading.run('read', 'select connection_id()', [])).rows[0];
  const after = databases.of(target('d', { settings, version: 1 }));
  expect((await after.reading.run('read', 'select connection_id()', [])).rows[0]).not.toEqual(pid);
  expect(() => databases.of(target('d', { settings }))).toThrow('The settings have changed');
  const wrong = databases.of(target('d', { settings, version: 2, password: 'wrong' }));
  const error = await errorOf(wrong.probe());
  expect(error).toMatchObject({ code: 'connector_unavailable' });
});
