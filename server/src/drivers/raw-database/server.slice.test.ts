import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { useTemporaryFolder } from '../database/hooks-testing.ts';
import { errorCode, query } from '../database/testing.ts';
import { silentLog } from '../testing.ts';
import { createRawDatabases, type RawDatabases } from './raw-databases.ts';
import { embeddedServer, type RawServer } from './server.ts';
import { installation, newRawDatabase } from './testing.ts';

// Hooks run in the order of registration.
afterAll(() => raw.close());
const folder = useTemporaryFolder();
let server: RawServer;
let raw: RawDatabases;
const open = () => {
  server = embeddedServer({ dataDir: join(folder.path, 'raw'), log: () => {}, warn: () => {} });
  const gate = {
    portFile: join(folder.path, 'port'),
    connectionsMax: 10,
    startupMsMax: 10_000,
    log: silentLog,
  };
  raw = createRawDatabases({ server, installation, gate });
};
beforeAll(open);

test('the embedded server is created with the first database, restarts when killed, and survives a restart', async () => {
  expect(await raw.findProblem()).toBeNull();
  await raw.address();
  raw.registerLogins([]);
  expect(server.exists()).toBeFalse();

  const made = await newRawDatabase(raw);
  expect(server.exists()).toBeTrue();
  await query(made.url, 'create table kept (a int)');
  const [facts] = await query(
    await server.url(),
    `select rolsuper, current_setting('max_connections')::int as connections,
       (select count(*)::int from pg_roles where rolname = 'svc_rows') as others from pg_roles where rolname = current_user`,
  );
  expect(facts).toEqual({ rolsuper: false, connections: 120, others: 0 });
  expect(statSync(join(folder.path, 'raw', 'postgres.json')).mode & 0o077).toBe(0);

  // It restarts after a kill.
  const [pid] = readFileSync(join(folder.path, 'raw', 'postgres', 'postmaster.pid'), 'utf8').split('\n');
  process.kill(Number(pid), 'SIGKILL');
  let code = '';
  while (code !== 'no error') code = await errorCode(query(made.url, 'select * from kept'));

  // After a restart, registered logins can connect at once, although the server is still starting.
  await raw.close();
  expect(await errorCode(query(made.url, 'select 1'))).not.toBe('no error');
  open();
  await raw.address();
  raw.registerLogins([made]);
  await query(made.url, 'select * from kept');
});
