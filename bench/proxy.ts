import { cpus, loadavg } from 'node:os';
import { resolve } from 'node:path';
import { type Cleanup, withCleanup } from './rows/cleanup.ts';
import { type Measurement, measure, medianRatio, medianRound } from './rows/measure.ts';
import { report } from './rows/report.ts';
import { runWrk } from './rows/run-wrk.ts';
import { startServer } from './rows/start-server.ts';
import { appOn, deployApp } from './runtime.ts';
import { flag, wordFlag } from './static/flags.ts';
import { type Contender, startNginx } from './static/start-peers.ts';

const rounds = flag('rounds', 7);
const seconds = flag('seconds', 3);
const warmUpSeconds = 1;
const toNginxMin = 0.7;

/**
 * A running app through the edge and through nginx (`proxy_pass` with kept connections, one worker), which take turns. The app runs without
 * isolation, so that both connect to the same process in the same way. `--before=<folder>`: a server of another checkout takes part.
 */
export async function main(): Promise<void> {
  const PATH = `${process.env.PATH}:/usr/sbin`;
  const [wrk, nginx] = [Bun.which('wrk', { PATH }), Bun.which('nginx', { PATH })];
  if (!wrk || !nginx) throw new Error('Missing: wrk or nginx. On Debian: apt install wrk nginx-light.');
  console.log(
    `${new Date().toISOString().slice(0, 10)}, ${cpus().length} cores (${cpus()[0]?.model ?? process.arch}), load ${loadavg()[0]?.toFixed(1)}`,
  );
  await withCleanup(async (cleanup) => {
    const before = wordFlag('before');
    const svc = await startEdge(cleanup, 'svc');
    const peer = await startNginx(nginx, {
      folder: svc.server.folder,
      cleanup,
      http: `upstream app { server 127.0.0.1:${svc.instancePort}; keepalive 128; keepalive_requests 1000000000; }`,
      server: `location / { proxy_pass http://app; proxy_http_version 1.1; proxy_set_header Connection "";
        proxy_set_header Host $host; proxy_set_header X-Forwarded-For $remote_addr; proxy_set_header X-Request-Id $request_id; }`,
      path: '/',
    });
    const contenders = [
      svc.contender,
      peer,
      ...(before === null ? [] : [(await startEdge(cleanup, 'before', resolve(before))).contender]),
      { ...peer, name: 'the app itself', port: svc.instancePort, pid: 0 },
    ];
    const results = new Map<Contender, Measurement[]>(contenders.map((contender) => [contender, []]));
    for (let round = 0; round < rounds; round++)
      for (const contender of round % 2 === 0 ? contenders : contenders.toReversed()) {
        const script = `wrk.headers["Host"] = "${contender.host}"\n`;
        const load = { name: contender.name.replaceAll(/\W+/g, '-'), port: contender.port, script };
        const run = (time: number) => runWrk(wrk, svc.server.folder, load, { seconds: time, cleanup });
        results.get(contender)?.push(
          await measure(
            { server: contender.pid || null, postmaster: svc.server.postmaster },
            () => run(warmUpSeconds),
            () => run(seconds),
          ),
        );
      }
    const lines = [...results].map(([{ name }, list]) => ({ name, result: medianRound(list) }));
    const [own, ofNginx] = lines;
    if (!own || !ofNginx) return;
    const ratio = (peer: Contender) =>
      medianRatio(rates(results.get(svc.contender)), rates(results.get(peer)));
    report(`GET of 5 bytes from an app, median of ${rounds} rounds of ${seconds} s`, 'request', lines, [
      { what: `svc to ${peer.name}`, ratio: ratio(peer), min: toNginxMin },
      {
        what: 'processor time, nginx to svc',
        ratio: ofNginx.result.cpu.serverUs / own.result.cpu.serverUs,
        min: 0,
      },
      ...contenders.slice(2).map((other) => ({ what: `svc to ${other.name}`, ratio: ratio(other), min: 0 })),
    ]);
  });
}

const rates = (list: readonly Measurement[] = []) => list.map(({ perSecond }) => perSecond);

async function startEdge(cleanup: Cleanup, name: string, checkout?: string) {
  const server = await startServer(
    cleanup,
    { SVC_RUNTIME_ISOLATION: 'none', SVC_LOG_LEVEL: 'warn' },
    checkout,
  );
  const { host, instancePort } = await deployApp(server, `bench-${name}`, appOn('process.env.PORT'));
  const contender: Contender = { name, port: server.port, pid: server.pid, host };
  return { server, instancePort, contender };
}
