import { afterAll, afterEach, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { join } from 'node:path';
import { withClient } from './connect.ts';
import { attachDatabase, type Database, openDatabase } from './database.ts';
import { livingPostmaster } from './postmaster-file.ts';
import { runServer, stoppedDataDir, type TemporaryFolder, temporaryFolder } from './testing.ts';

setDefaultTimeout(30_000);

let folder: TemporaryFolder;
let opened: Database[] = [];
let dataDir: string;

beforeAll(async () => {
  folder = temporaryFolder();
  dataDir = await stoppedDataDir(join(folder.path, 'data'));
});
afterEach(async () => {
  await Promise.all(opened.map((database) => database.stop()));
  opened = [];
});
afterAll(() => folder.remove());

async function kept(opening: Promise<Database>): Promise<Database> {
  const database = await opening;
  opened.push(database);
  return database;
}

const attach = (dataDir: string) => kept(attachDatabase({ dataDir, log: () => {} }));
const open = (dataDir: string) => kept(openDatabase({ dataDir, log: () => {} }));
const answers = (database: Database) =>
  withClient(database.controlUrl, async (client) => {
    await client.query('select 1');
  });
const postmasterOf = (dataDir: string) => livingPostmaster(join(dataDir, 'postgres'));

test('a command beside a server uses its PostgreSQL and leaves it running', async () => {
  const server = await open(dataDir);
  const command = await attach(dataDir);
  await answers(command);
  await command.stop();
  command.stopNow();
  await answers(server);
  await server.stop();
});

test('a command without a server starts PostgreSQL, also for the first time, and stops it', async () => {
  for (const where of [dataDir, join(folder.path, 'never-started')]) {
    const command = await attach(where);
    await answers(command);
    await command.stop();
    expect(postmasterOf(where)).toBeNull();
  }
});

test('a command on the PostgreSQL that a killed server left leaves it running', async () => {
  const server = runServer(dataDir);
  await server.line();
  server.child.kill('SIGKILL');
  await server.ended;
  const pid = postmasterOf(dataDir);
  expect(pid).not.toBeNull();
  const command = await attach(dataDir);
  await command.stop();
  expect(postmasterOf(dataDir)).toBe(pid);
  await (await open(dataDir)).stop();
});

test('of commands that overlap the last one stops PostgreSQL', async () => {
  const [first, second, third] = await Promise.all([attach(dataDir), attach(dataDir), attach(dataDir)]);
  await first.stop();
  await third.stop();
  await answers(second);
  await second.stop();
  expect(postmasterOf(dataDir)).toBeNull();
});

test('a server that comes while a command works keeps PostgreSQL after it', async () => {
  const command = await attach(dataDir);
  const server = await open(dataDir);
  await command.stop();
  await answers(server);
  await server.stop();
  expect(postmasterOf(dataDir)).toBeNull();
});

test('servers and commands that come and go at once never stop PostgreSQL under one another', async () => {
  const command = async () => {
    for (let round = 0; round < 4; round++) {
      const database = await attach(dataDir);
      await answers(database);
      await database.stop();
    }
  };
  const server = await open(dataDir);
  await Promise.all([command(), command(), answers(server)]);
  await server.stop();
  await Promise.all([command(), command()]);
  expect(postmasterOf(dataDir)).toBeNull();
});
