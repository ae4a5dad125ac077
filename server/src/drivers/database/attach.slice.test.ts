import { expect, test } from 'bun:test';
import { join } from 'node:path';
import type { Database } from './connect.ts';
import { useDataDir } from './hooks-testing.ts';
import { query } from './testing.ts';

const dataDir = useDataDir();
const { attach, open, postmaster } = dataDir;
const ping = (database: Database) => query(database.controlUrl, 'select 1');

test('a command uses the PostgreSQL of a running server and leaves it running', async () => {
  const server = await open();
  const command = await attach();
  await ping(command);
  await command.stop();
  command.stopNow();
  await ping(server);
  await server.stop();
});

test('a command without a server starts PostgreSQL and stops it, also on a new data dir', async () => {
  for (const path of [dataDir.path, join(dataDir.folder.path, 'never-started')]) {
    const command = await attach(path);
    await ping(command);
    await command.stop();
    expect(postmaster(path)).toBeNull();
  }
});

test('a command leaves the PostgreSQL of a killed server running', async () => {
  const server = dataDir.serve();
  await server.line();
  server.child.kill('SIGKILL');
  await server.ended;
  const pid = postmaster();
  expect(pid).not.toBeNull();
  const command = await attach();
  await command.stop();
  expect(postmaster()).toBe(pid);
  await (await open()).stop();
});

test('the last of several overlapping commands stops PostgreSQL', async () => {
  const [first, second, third] = await Promise.all([attach(), attach(), attach()]);
  await first.stop();
  await third.stop();
  await ping(second);
  await second.stop();
  expect(postmaster()).toBeNull();
});

test('PostgreSQL stays up for a server that started during a command', async () => {
  const command = await attach();
  const server = await open();
  await command.stop();
  await ping(server);
  await server.stop();
  expect(postmaster()).toBeNull();
});

test('overlapping servers and commands never stop PostgreSQL while another uses it', async () => {
  const command = async () => {
    for (let round = 0; round < 4; round++) {
      const database = await attach();
      await ping(database);
      await database.stop();
    }
  };
  const server = await open();
  await Promise.all([command(), command(), ping(server)]);
  await server.stop();
  await Promise.all([command(), command()]);
  expect(postmaster()).toBeNull();
});
