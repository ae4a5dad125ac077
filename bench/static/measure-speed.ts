import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Cleanup } from '../rows/cleanup.ts';
import { type Measurement, measure, medianRound } from '../rows/measure.ts';
import { report } from '../rows/report.ts';
import { runWrk } from '../rows/run-wrk.ts';
import type { Server } from '../rows/start-server.ts';
import { flag } from './flags.ts';
import { publishSite } from './publish-site.ts';
import { requestHost } from './request-host.ts';
import { type Contender, findWebTools, startCaddy, startNginx } from './start-peers.ts';

const rounds = flag('rounds', 3);
const seconds = flag('seconds', 5);
const warmUpSeconds = 1;
const tailRatioMax = 4;

interface Case {
  title: string;
  path: string;
  isConditional: boolean;
  toNginx: number;
  toCaddy: number;
}
const cases: readonly Case[] = [
  { title: '1 KB', path: '/1k.css', isConditional: false, toNginx: 1.2, toCaddy: 1.2 },
  { title: '16 KB', path: '/16k.css', isConditional: false, toNginx: 0.8, toCaddy: 1.2 },
  { title: '304 by If-None-Match', path: '/1k.css', isConditional: true, toNginx: 1, toCaddy: 0 },
];

/** The same files from svc, nginx and Caddy in alternating rounds; the median counts. */
export async function measureSpeed(server: Server, cleanup: Cleanup): Promise<void> {
  const tools = findWebTools();
  const files = { '1k.css': page(1024), '16k.css': page(16 * 1024) };
  const folder = join(server.folder, 'www');
  mkdirSync(folder);
  for (const [path, bytes] of Object.entries(files)) writeFileSync(join(folder, path), bytes);
  const { host } = await publishSite(server, 'bench-speed', {
    ...files,
    'index.html': page(2_000),
    '404.html': page(500),
  });
  const svc: Contender = { name: 'svc', port: server.port, pid: server.pid, host };
  const peer = { folder: server.folder, files: folder, cleanup };
  const nginx = await startNginx(tools.nginx, {
    ...peer,
    server: `root ${folder}; location / { add_header Cache-Control "public, max-age=0, must-revalidate"; add_header X-Content-Type-Options nosniff; }`,
    path: '/1k.css',
  });
  const caddies = [
    await startCaddy(tools.caddy, { ...peer, processors: 1 }),
    await startCaddy(tools.caddy, { ...peer, processors: null }),
  ];
  const contenders = [svc, nginx, ...caddies];

  for (const benchCase of cases) {
    const results = new Map<Contender, Measurement[]>(contenders.map((contender) => [contender, []]));
    const headers = new Map<Contender, Record<string, string>>();
    for (const contender of contenders) headers.set(contender, await headersFor(contender, benchCase));
    for (let round = 0; round < rounds; round++) {
      for (const contender of round % 2 === 0 ? contenders : contenders.toReversed()) {
        const load = {
          name: `${contender.name} ${benchCase.title}`.replaceAll(/\W+/g, '-'),
          port: contender.port,
          script: `wrk.path = "${benchCase.path}"\n${luaHeaders(headers.get(contender) ?? {})}`,
        };
        const run = (time: number) => runWrk(tools.wrk, server.folder, load, { seconds: time, cleanup });
        const result = await measure(
          { server: contender.pid, postmaster: server.postmaster },
          () => run(warmUpSeconds),
          () => run(seconds),
        );
        results.get(contender)?.push(result);
      }
    }
    reportCase(
      benchCase,
      [...results].map(([contender, list]) => ({ contender, result: medianRound(list) })),
    );
  }
}

function reportCase(
  { title, toNginx, toCaddy }: Case,
  lines: { contender: Contender; result: Measurement }[],
): void {
  const [svc, nginx, caddySingle, caddy] = lines;
  if (!svc) return;
  const goals = [
    { peer: nginx, min: toNginx },
    { peer: caddySingle, min: toCaddy },
    { peer: caddy, min: toCaddy },
  ].flatMap(({ peer, min }) => {
    if (!peer) return [];
    const ratio = svc.result.perSecond / peer.result.perSecond;
    return [{ what: `svc to ${peer.contender.name}`, ratio, min }];
  });
  const named = lines.map(({ contender, result }) => ({ name: contender.name, result }));
  report(`${title}, median of ${rounds} rounds of ${seconds} s`, 'request', named, goals);
  const tail = svc.result.p99Ms / svc.result.p50Ms;
  const verdict = tail <= tailRatioMax ? 'PASS' : 'MISS';
  console.log(`  svc: p99 to p50: ${tail.toFixed(2)}, goal <= ${tailRatioMax}: ${verdict}`);
}

async function headersFor(contender: Contender, benchCase: Case): Promise<Record<string, string>> {
  const host = { Host: contender.host === '127.0.0.1' ? `127.0.0.1:${contender.port}` : contender.host };
  const first = await requestHost(contender.port, benchCase.path, host);
  if (first.status !== 200 || first.bytes === 0)
    throw new Error(`${contender.name} returned ${first.status}.`);
  if (!benchCase.isConditional) return host;
  const headers = { ...host, 'If-None-Match': first.etag };
  const second = await requestHost(contender.port, benchCase.path, headers);
  if (second.status !== 304) throw new Error(`${contender.name} returned ${second.status} instead of 304.`);
  return headers;
}

const luaHeaders = (headers: Record<string, string>) =>
  Object.entries(headers)
    .map(([name, value]) => `wrk.headers["${name}"] = [[${value}]]`)
    .join('\n');

function page(bytes: number): Uint8Array<ArrayBuffer> {
  const words = ['light', 'sea', 'night', 'keeper', 'lamp', 'storm', 'harbour'];
  let text = '<!doctype html><title>Page</title>';
  for (let at = 0; text.length < bytes; at++) text += `<p>${words[(at * 5 + (at >> 3)) % 7]} ${at}</p>\n`;
  return new TextEncoder().encode(text.slice(0, bytes));
}
