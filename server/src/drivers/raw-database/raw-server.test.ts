import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf, query, type TemporaryFolder, temporaryFolder } from '../database/testing.ts';
import { createRawDatabases, type RawDatabases } from './raw-databases.ts';
import { ownServer, type RawServer } from './raw-server.ts';
import { installation, newRawDatabase } from './testing.ts';

setDefaultTimeout(60_000);

let folder: TemporaryFolder;
let server: RawServer;
let raw: RawDatabases;
const open = () => {
  server = ownServer({ dataDir: join(folder.path, 'raw'), log: () => {}, warn: () => {} });
  const gate = {
    portFile: join(folder.path, 'port'),
    connectionsMax: 10,
    startupMsMax: 10_000,
    log: () => {},
  };
  raw = createRawDatabases({ server, installation, gate });
};
beforeAll(() => {
  folder = temporaryFolder();
  open();
});
afterAll(async () => {
  await raw.close();
  await folder.remove();
});

test('it is made when the first database is, and not for being asked about', async () => {
  expect(await raw.obstacle()).toBeNull();
  await raw.address();
  raw.welcome([]);
  expect(server.isMade()).toBeFalse();

  const made = await newRawDatabase(raw);
  expect(server.isMade()).toBeTrue();
  await query(made.url, 'create table kept (a int)');
  const [facts] = await query(
    await server.url(),
    `select rolsuper, current_setting('max_connections')::int as connections,
       (select count(*)::int from pg_roles where rolname = 'svc_rows') as others from pg_roles where rolname = current_user`,
  );
  expect(facts).toEqual({ rolsuper: false, connections: 120, others: 0 });
  expect(statSync(join(folder.path, 'raw', 'postgres.json')).mode & 0o077).toBe(0);

  // Killed, it comes up again in the same place.
  const [pid] = readFileSync(join(folder.path, 'raw', 'postgres', 'postmaster.pid'), 'utf8').split('\n');
  process.kill(Number(pid), 'SIGKILL');
  let code = '';
  while (code !== 'no error') code = await codeOf(query(made.url, 'select * from kept'));

  // After a stop and a start, who is welcomed gets in at once, though it is still starting.
  await raw.close();
  expect(await codeOf(query(made.url, 'select 1'))).not.toBe('no error');
  open();
  await raw.address();
  raw.welcome([made]);
  await query(made.url, 'select * from kept');
});
