import { cpus } from 'node:os';
import { withCleanup } from './rows/cleanup.ts';
import { startServer } from './rows/start-server.ts';
import { wordFlag } from './static/flags.ts';
import { measureDeploy } from './static/measure-deploy.ts';
import { measureMemory } from './static/measure-memory.ts';
import { measureSpeed } from './static/measure-speed.ts';

/**
 * Static sites: throughput against nginx and Caddy, memory for many sites, and deployment time.
 * `--only=speed|memory|deploy`; short trial: `--seconds=1 --rounds=1 --sites=500 --files=500`.
 */
export async function main(): Promise<void> {
  const only = wordFlag('only');
  await withCleanup(async (cleanup) => {
    const server = await startServer(cleanup, { SVC_LOG_LEVEL: 'warn' });
    const [processor] = cpus();
    console.log(
      `${new Date().toISOString().slice(0, 10)}, ${cpus().length} cores (${processor?.model ?? process.arch}), Bun ${Bun.version}`,
    );
    if (only === null || only === 'speed') await measureSpeed(server, cleanup);
    if (only === null || only === 'memory') await measureMemory(server);
    if (only === null || only === 'deploy') await measureDeploy(server);
  });
}
