import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import type { Cleanup } from './cleanup.ts';
import { copyLines, rowCount } from './dataset.ts';
import { runPsqlSessions } from './run-psql.ts';
import { freePort, root, type Server } from './start-server.ts';
import type { Tools } from './tools.ts';

export interface Peer {
  name: string;
  pid: number;
  port: number;
}

const folder = join(root, 'bench/peers/platformatic');
const database = 'bench_platformatic';

export async function startPlatformatic(server: Server, tools: Tools, cleanup: Cleanup): Promise<Peer> {
  install();
  await makeTables(server, tools, cleanup);
  const port = freePort();
  const child = Bun.spawn([nodePath(), 'serve.mjs', server.databaseUrl(database), String(port)], {
    cwd: folder,
    env: { ...process.env, NODE_ENV: 'production' },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'inherit',
  });
  cleanup.child(child);
  let text = '';
  for await (const chunk of child.stdout) {
    text += new TextDecoder().decode(chunk);
    if (text.includes('ready')) break;
  }
  if (!text.includes('ready')) throw new Error(`Platformatic did not start: ${text}`);
  return { name: `Platformatic ${readVersion('@platformatic/db')}`, pid: child.pid, port };
}

function install(): void {
  if (existsSync(join(folder, 'node_modules/@platformatic/db'))) return;
  console.log('Installing Platformatic into bench/peers (once; it takes some minutes) …');
  const command = ['npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const { exitCode } = Bun.spawnSync(command, { cwd: folder, stdout: 'inherit', stderr: 'inherit' });
  if (exitCode !== 0) throw new Error('npm ci failed in bench/peers/platformatic.');
}

function nodePath(): string {
  const own = join(folder, 'node_modules', `node-${process.platform}-${process.arch}`, 'bin/node');
  return existsSync(own) ? own : 'node';
}

function readVersion(name: string): string {
  const text = readFileSync(join(folder, 'node_modules', name, 'package.json'), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

async function makeTables(server: Server, tools: Tools, cleanup: Cleanup): Promise<void> {
  await server.sql(`create database ${database}`);
  const client = new pg.Client({ connectionString: server.databaseUrl(database) });
  await client.connect();
  try {
    await client.query(`
      create table items (
        id uuid primary key default uuidv7(),
        title text collate "C" not null,
        category int not null,
        price float8 not null,
        active bool not null,
        meta jsonb not null,
        created_at timestamptz not null,
        updated_at int8 not null
      );
      create index on items (category, created_at, id);
      create table inserts (like items including all)`);
    const file = join(server.folder, 'items.copy');
    writeFileSync(file, copyLines(1, rowCount, { ids: 'numbered' }));
    await runPsqlSessions(tools.psql, server, {
      database,
      sessions: [[`\\copy items from '${file}'`]],
      cleanup,
    });
    await client.query('insert into inserts select * from items');
    await client.query('vacuum analyze');
  } finally {
    await client.end();
  }
}
