import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { withCleanup } from './rows/cleanup.ts';
import { root, startServer } from './rows/start-server.ts';
import { flag } from './static/flags.ts';

const rounds = flag('rounds', 5);
const seconds = flag('seconds', 3);
const names = ['svc', 'pg', 'postgres.js'] as const;
const cases = {
  'point read': 'select id, name, price, note from items where id = $1',
  'list of 20': 'select id, name, price, note from items where id >= $1 order by id limit 20',
  insert: `insert into added (name, price) values ('Tea ' || $1::text, 3) returning id`,
};

interface Result {
  perSecond: number;
  us: number;
}

/**
 * The client that the row API uses, beside `pg` and postgres.js: statements with names from 32 loops over at most 8 connections. The
 * clients take turns, each in a process of its own; the median of the rounds counts.
 */
export async function main(): Promise<void> {
  installPeer();
  await withCleanup(async (cleanup) => {
    const server = await startServer(cleanup, { SVC_LOG_LEVEL: 'warn' });
    const url = server.databaseUrl('svc');
    await server.sql(`create table items (id bigint primary key, name text, price int, note text)`);
    await server.sql(
      `create table added (id bigint generated always as identity primary key, name text, price int)`,
    );
    await server.sql(
      `insert into items select n, 'Item ' || n, n % 100, repeat('x', 60) from generate_series(1, 100100) n`,
    );
    await server.sql('analyze items');
    for (const [what, text] of Object.entries(cases)) {
      const results = new Map<string, Result[]>(names.map((name) => [name, []]));
      for (let round = 0; round < rounds; round++)
        for (const name of round % 2 === 0 ? names : names.toReversed())
          results.get(name)?.push(runClient(name, url, text));
      const median = (name: string, of: (result: Result) => number) =>
        (results.get(name) ?? []).map(of).toSorted((a, b) => a - b)[Math.floor(rounds / 2)] ?? 0;
      console.log(`\n${what}`);
      for (const name of names)
        console.log(
          `  ${name.padEnd(12)} ${Math.round(median(name, (it) => it.perSecond))}/s, ${median(name, (it) => it.us).toFixed(1)} us of the client`,
        );
    }
  });
}

function runClient(name: string, url: string, text: string): Result {
  const program = join(root, 'bench/clients/run-client.ts');
  const { stdout, stderr, exitCode } = Bun.spawnSync([
    process.execPath,
    program,
    name,
    url,
    text,
    String(seconds),
  ]);
  if (exitCode !== 0) throw new Error(`${name}: ${stderr}`);
  return JSON.parse(stdout.toString()) as Result;
}

function installPeer(): void {
  const folder = join(root, 'bench/peers/postgres');
  if (existsSync(join(folder, 'node_modules/postgres'))) return;
  const command = ['npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const { exitCode } = Bun.spawnSync(command, { cwd: folder, stdout: 'inherit', stderr: 'inherit' });
  if (exitCode !== 0) throw new Error('npm ci failed in bench/peers/postgres.');
}
