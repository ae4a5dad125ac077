import { expect, test } from 'bun:test';
import { mkdtempSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import { useFolder } from '../../../scripts/use-fixture.ts';
import { silentLog, useTestDatabase } from '../testing.ts';
import { findUnshared, listServers, registerServer, type ServerConfig } from './server-registry.ts';

const top = useFolder();
const database = useTestDatabase();

const bucket: ServerConfig['objectStore'] = {
  kind: 's3',
  bucket: 'one',
  endpoint: 'https://s3.example.com',
  region: 'us-east-1',
  accessKeyId: 'a',
  secretAccessKey: 'b',
};

async function register(name: string, config: Partial<ServerConfig> = {}) {
  const logged: string[] = [];
  const log = Object.assign(Object.create(silentLog), {
    error: ({ hint }: { hint: string }) => logged.push(hint),
  });
  const dataDir = mkdtempSync(join(top, name));
  const server = await registerServer(
    { db: database.db, log },
    {
      dataDir,
      objectStore: bucket,
      gitHost: { kind: 'built-in' },
      runtime: { kind: 'process' },
      baseUrl: 'https://svc.example.com',
      appsDomain: 'example-apps.com',
      ...config,
    },
  );
  return { ...server, logged, dataDir };
}

test('servers are compared while they run, and each start says what they do not share', async () => {
  const one = await register('one', { objectStore: { kind: 'file' } });
  expect([one.logged, await listServers(database.db)]).toEqual([[], [expect.any(Object)]]);
  const two = await register('two');
  expect(two.logged).toEqual([
    'Set SVC_OBJECT_STORE to the same bucket for all of them.',
    expect.stringContaining('shared volume'),
  ]);
  await one.stop();
  expect(findUnshared(await listServers(database.db))).toEqual([]);
  await sql`update svc.servers set seen_at = now() - interval '2 minutes'`.execute(database.db);
  expect(await listServers(database.db)).toEqual([]);
  await two.stop();
});

test('a folder that several servers have mounted is one folder', async () => {
  const one = await register('one');
  const dataDir = mkdtempSync(join(top, 'two'));
  symlinkSync(join(one.dataDir, 'git'), join(dataDir, 'git'));
  const two = await register('unused', { dataDir });
  expect(two.logged).toEqual([]);
  await Promise.all([one.stop(), two.stop()]);
});

test('servers with different addresses are reported', async () => {
  const git = { gitHost: { kind: 'github' } as ServerConfig['gitHost'] };
  const one = await register('one', git);
  const two = await register('two', { ...git, baseUrl: 'http://localhost:4400' });
  expect(two.logged).toEqual(['Set SVC_BASE_URL to the same value for all of them.']);
  await two.stop();
  const three = await register('three', { ...git, appsDomain: 'apps.localhost' });
  expect(three.logged).toEqual(['Set SVC_APPS_DOMAIN to the same value for all of them.']);
  await Promise.all([one.stop(), three.stop()]);
});

test('apps as processes on two machines, and two runtimes, are reported', () => {
  const server = {
    host: 'a',
    data_dir: '/data',
    network: '1',
    runtime: 'process',
    objects: 'bucket',
    repositories: 'github',
    base_url: 'https://svc.example.com',
    apps_domain: 'example-apps.com',
  };
  const other = { ...server, host: 'b' };
  const hints = (...servers: (typeof server)[]) => findUnshared(servers).map(({ hint }) => hint);
  expect(hints(server, other)).toEqual([]);
  expect(hints(server, { ...other, network: '2' })).toEqual([expect.stringContaining('Docker Swarm')]);
  expect(hints(server, { ...other, network: '2', runtime: 'docker' })).toEqual([
    expect.stringContaining('SVC_RUNTIME'),
  ]);
});
