import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Cleanup } from './cleanup.ts';
import { type CountedFigures, percentile } from './measure.ts';
import type { Script } from './pgbench-script.ts';
import type { Server } from './start-server.ts';

const sampleRate = 0.05;

/** Prepared statements from one thread, with the role that the server uses for rows. */
export async function runPgbench(
  pgbench: string,
  server: Pick<Server, 'folder' | 'socketFolder' | 'rowsLogin'> & { databasePort?: number },
  { text, fixed }: Script,
  options: { name: string; connections: number; seconds: number; cleanup: Cleanup },
): Promise<CountedFigures> {
  const path = join(server.folder, `${options.name}.sql`);
  writeFileSync(path, text);
  const prefix = `pgbench-${options.name}-${options.connections}`;
  const { user, password, database } = server.rowsLogin;
  const work = ['-n', '-M', 'prepared', '-f', path, '-c', String(options.connections), '-j', '1'];
  const log = ['-T', String(options.seconds), '-l', `--sampling-rate=${sampleRate}`, '--log-prefix', prefix];
  const variables = Object.entries(fixed).flatMap(([name, value]) => ['-D', `${name}=${value}`]);
  const login = ['-h', server.socketFolder, '-p', String(server.databasePort ?? 5432), '-U', user, database];
  const env = { ...process.env, PGPASSWORD: password };
  const command = [pgbench, ...work, ...log, ...variables, ...login];
  const child = Bun.spawn(command, { cwd: server.folder, env, stdout: 'pipe', stderr: 'pipe' });
  options.cleanup.child(child);
  const [output, errors] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  const perSecond = Number(/tps = ([\d.]+)/.exec(output)?.[1]);
  const count = Number(/actually processed: (\d+)/.exec(output)?.[1]);
  const failed = Number(/failed transactions: (\d+)/.exec(output)?.[1] ?? 0);
  if ((await child.exited) !== 0 || !perSecond || failed > 0) throw new Error(`pgbench: ${output}${errors}`);
  const times = readdirSync(server.folder)
    .filter((name) => name.startsWith(`${prefix}.`))
    .flatMap((name) => {
      const lines = readFileSync(join(server.folder, name), 'utf8').trim().split('\n');
      rmSync(join(server.folder, name));
      return lines.map((line) => Number(line.split(' ')[2]) / 1000);
    });
  return {
    count,
    seconds: count / perSecond,
    perSecond,
    p50Ms: percentile(times, 0.5),
    p99Ms: percentile(times, 0.99),
  };
}
