import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { processWorld } from '../server/src/drivers/runtime/process/testing.ts';
import { openBench } from '../server/src/drivers/runtime/testing.ts';
import { checkOut } from './compare.ts';
import { type Cleanup, withCleanup } from './rows/cleanup.ts';
import { percentile } from './rows/measure.ts';
import { createApp, root, type Server, startServer } from './rows/start-server.ts';
import { flag, wordFlag } from './static/flags.ts';
import { requestHost } from './static/request-host.ts';

/**
 * Apps as processes in the sandbox, beside the same app without it: time to the first response, and latency at a constant
 * rate. Disturbances only slow down, so the fastest rounds are compared. `--only=start|latency`; short trial: `--seconds=1 --rounds=2`.
 * `--before=<commit>`: latency beside that of an earlier server without isolation.
 */
export async function main(): Promise<void> {
  const only = wordFlag('only');
  await withCleanup(async (cleanup) => {
    console.log(
      `${new Date().toISOString().slice(0, 10)}, ${cpus().length} cores (${cpus()[0]?.model ?? process.arch}), load ${loadavg()[0]?.toFixed(1)}`,
    );
    if (only !== 'latency') await measureStart(cleanup);
    if (only !== 'start') await measureLatency(cleanup);
  });
}

const rounds = flag('rounds', 10);
const seconds = flag('seconds', 5);
const ratePerSecond = flag('rate', 500);
const startMsMax = 100;
const latencyMax = 1.1;

export const appOn = (port: string) =>
  `require('node:http').createServer((_, response) => response.end('hello')).listen(${port}, '127.0.0.1');`;

const variants = [
  { name: 'without isolation', env: { SVC_RUNTIME_ISOLATION: 'none' }, port: 'process.env.PORT' },
  { name: 'sandbox', env: {}, port: 'process.env.PORT' },
  { name: 'sandbox, another port', env: {}, port: '3000' },
] as const;

async function measureStart(cleanup: Cleanup): Promise<void> {
  const ready = [];
  for (const { name, env, port } of variants) {
    const use = 'SVC_RUNTIME_ISOLATION' in env ? 'none' : 'required';
    const world = processWorld({ isolation: { use, egress: 'public', gatewayPort: null } });
    const bench = openBench(world, await world.open());
    cleanup.add(() => world.close());
    cleanup.add(() => bench.runtime.close());
    const app = bench.app('web');
    app.sample.files['app.js'] = appOn(port);
    ready.push({ name, app, built: await app.build(), times: [] as number[] });
  }
  for (let round = 0; round <= rounds; round++)
    for (const { app, built, times } of ready) {
      const from = performance.now();
      const instance = await app.start(built);
      for (let isUp = false; !isUp; ) {
        const now = await instance.getState();
        const address = (now.state === 'running' && now.address) || instance.address;
        isUp = (await fetch(`http://${address}/`).catch(() => null)) !== null;
        if (!isUp) await Bun.sleep(2);
      }
      // The first round reads programs from the disk.
      if (round > 0) times.push(performance.now() - from);
      await instance.stop(0);
    }
  console.log(`\nfrom the start to the first response, ${rounds} times each: the fastest, p50`);
  for (const { name, times } of ready)
    console.log(`  ${name}: ${Math.min(...times).toFixed(0)} ms, ${percentile(times, 0.5).toFixed(0)} ms`);
  const [without = 0, sandbox = 0, other = 0] = ready.map(({ times }) => Math.min(...times));
  const more = sandbox - without;
  console.log(
    `  sandbox: +${more.toFixed(0)} ms, goal at most ${startMsMax} ms: ${more <= startMsMax ? 'PASS' : 'MISS'}; another port: +${(other - sandbox).toFixed(0)} ms`,
  );
}

interface Route {
  name: string;
  /** Of the edge, or of the instance. */
  port: number;
  host: string;
  p50: number[];
  p99: number[];
}

async function measureLatency(cleanup: Cleanup): Promise<void> {
  const servers = new Map<string, Server>();
  const edge: Route[] = [];
  const direct: Route[] = [];
  const before = wordFlag('before');
  const without = variants[0];
  const earlier = before
    ? [{ ...without, name: `${before}, without isolation`, tree: checkOut(before, cleanup) }]
    : [];
  const contenders = [...earlier, ...variants.map((variant) => ({ ...variant, tree: root }))];
  for (const [at, { name, env, port, tree }] of contenders.entries()) {
    const key = tree + JSON.stringify(env);
    const server = servers.get(key) ?? (await startServer(cleanup, { ...env, SVC_LOG_LEVEL: 'warn' }, tree));
    servers.set(key, server);
    const { host, instancePort } = await deployApp(server, `bench-${at}`, appOn(port), tree);
    edge.push({ name, port: server.port, host, p50: [], p99: [] });
    direct.push({ name, port: instancePort, host, p50: [], p99: [] });
  }
  for (let round = 0; round <= rounds; round++)
    for (const route of [...edge, ...direct]) {
      const times = await requestAtRate(route, round === 0 ? 1 : seconds);
      if (round === 0) continue;
      route.p50.push(percentile(times, 0.5));
      route.p99.push(percentile(times, 0.99));
    }
  for (const [what, routes] of [
    ['through the edge', edge],
    ['to the instance', direct],
  ] as const) {
    console.log(
      `\n${ratePerSecond} requests a second ${what}: p50 and p99 of the fastest of ${rounds} rounds of ${seconds} s`,
    );
    const first = Math.min(...(routes[0]?.p50 ?? []));
    for (const { name, p50, p99 } of routes) {
      const ratio = Math.min(...p50) / first;
      console.log(
        `  ${name}: ${Math.min(...p50).toFixed(3)} ms, ${Math.min(...p99).toFixed(2)} ms; ${ratio.toFixed(2)} of the first, goal at most ${latencyMax}: ${ratio <= latencyMax ? 'PASS' : 'MISS'}`,
      );
    }
  }
}

export async function deployApp(server: Server, slug: string, code: string, tree = root) {
  await createApp(server, slug);
  const folder = join(server.folder, slug);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'svc.yaml'), 'start: node server.js\n');
  writeFileSync(join(folder, 'server.js'), code);
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: slug, private: true }));
  await server.sql(`update svc.apps set deploy_method = 'docker' where slug = '${slug}'`);
  const { access_token } = server.admin('tokens', 'issue', '--user', 'admin@demo.localhost');
  const run = Bun.spawnSync(
    [join(tree, 'svc'), 'deploy', '--app', slug, '--from-dir', folder, '--execute', '--json'],
    {
      env: {
        ...process.env,
        SVC_BASE_URL: `http://localhost:${server.port}`,
        SVC_CONFIG_DIR: join(server.folder, 'config'),
        SVC_TENANT: 'demo',
        SVC_TOKEN: access_token ?? '',
      },
    },
  );
  if (run.exitCode !== 0) throw new Error(`svc deploy: ${run.stdout}${run.stderr}`);
  // Afterwards: the deployment of an app that everybody sees would wait for a review.
  const [app] = await server.sql<{ subdomain: string; address: string }>(
    `update svc.apps a set visibility = 'internet' from svc.app_instances i
     where i.app_id = a.id and a.slug = '${slug}' returning a.subdomain, i.address, pg_notify('svc_changed', 'app:' || a.id)`,
  );
  return {
    host: `${app?.subdomain}.apps.localhost`,
    instancePort: Number(app?.address.split(':').at(-1)),
  };
}

/** Requests start at their times, whether or not earlier ones have ended. */
async function requestAtRate({ port, host }: Route, forSeconds: number): Promise<number[]> {
  const times: number[] = [];
  const open: Promise<void>[] = [];
  const from = performance.now();
  for (let at = 0; at < forSeconds * ratePerSecond; ) {
    const due = ((performance.now() - from) / 1000) * ratePerSecond;
    for (; at < due && at < forSeconds * ratePerSecond; at++) {
      const sent = performance.now();
      open.push(
        requestHost(port, '/', { Host: host }).then(({ status }) => {
          if (status !== 200) throw new Error(`The response has status ${status}.`);
          times.push(performance.now() - sent);
        }),
      );
    }
    await Bun.sleep(1);
  }
  await Promise.all(open);
  return times;
}
