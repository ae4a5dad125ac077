import { cpus } from 'node:os';
import { withCleanup } from './rows/cleanup.ts';
import { freePort, startServer } from './rows/start-server.ts';
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
    const edgePort = freePort();
    const server = await startServer(cleanup, { SVC_EDGE_PORT: String(edgePort), SVC_LOG_LEVEL: 'warn' });
    const [processor] = cpus();
    console.log(
      `${new Date().toISOString().slice(0, 10)}, ${cpus().length} cores (${processor?.model ?? process.arch}), Bun ${Bun.version}`,
    );
    if (only === null || only === 'speed')
      await measureSpeed(server, (await listens(edgePort)) ? edgePort : null, cleanup);
    if (only === null || only === 'memory') await measureMemory(server);
    if (only === null || only === 'deploy') await measureDeploy(server);
  });
}

const listens = (port: number) =>
  fetch(`http://127.0.0.1:${port}/healthz`).then(
    () => true,
    () => false,
  );
