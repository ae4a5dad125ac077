import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Cleanup } from '../rows/cleanup.ts';
import { type Measured, measured } from '../rows/measured.ts';
import { report } from '../rows/report.ts';
import { runWrk } from '../rows/run-wrk.ts';
import type { Server } from '../rows/start-server.ts';
import { askHost } from './ask-host.ts';
import { flag } from './flags.ts';
import { publishSite } from './publish-site.ts';
import { type Contender, findWebTools, startCaddy, startNginx } from './start-peers.ts';

const rounds = flag('rounds', 3);
const seconds = flag('seconds', 5);
const warmUpSeconds = 1;
const tailMost = 5;

interface Case {
  title: string;
  path: string;
  isConditional: boolean;
  toNginx: number;
  toCaddy: number;
}
const cases: readonly Case[] = [
  { title: '1 KB', path: '/1k.css', isConditional: false, toNginx: 0.6, toCaddy: 1.2 },
  { title: '16 KB', path: '/16k.css', isConditional: false, toNginx: 0.6, toCaddy: 1.2 },
  { title: '304 by If-None-Match', path: '/1k.css', isConditional: true, toNginx: 0.7, toCaddy: 0 },
];

/** The same files from us, from nginx and from Caddy, in rounds that take turns; the median of each counts. */
export async function measureSpeed(server: Server, edgePort: number | null, cleanup: Cleanup): Promise<void> {
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
  const own = (name: string, port: number): Contender => ({ name, port, pid: server.pid, host });
  const ours = [own('svc', server.port), ...(edgePort === null ? [] : [own('svc, SVC_EDGE_PORT', edgePort)])];
  const peer = { folder: server.folder, files: folder, cleanup };
  const nginx = await startNginx(tools.nginx, peer);
  const caddies = [
    await startCaddy(tools.caddy, { ...peer, processors: 1 }),
    await startCaddy(tools.caddy, { ...peer, processors: null }),
  ];
  const contenders = [...ours, nginx, ...caddies];

  for (const one of cases) {
    const results = new Map<Contender, Measured[]>(contenders.map((who) => [who, []]));
    const headers = new Map<Contender, Record<string, string>>();
    for (const who of contenders) headers.set(who, await headersFor(who, one));
    for (let round = 0; round < rounds; round++) {
      for (const who of round % 2 === 0 ? contenders : contenders.toReversed()) {
        const load = {
          name: `${who.name} ${one.title}`.replaceAll(/\W+/g, '-'),
          port: who.port,
          script: `wrk.path = "${one.path}"\n${lua(headers.get(who) ?? {})}`,
        };
        const run = (time: number) => runWrk(tools.wrk, server.folder, load, { seconds: time, cleanup });
        const result = await measured(
          { server: who.pid, postmaster: server.postmaster },
          () => run(warmUpSeconds),
          () => run(seconds),
        );
        results.get(who)?.push(result);
      }
    }
    reportCase(
      one,
      [...results].map(([who, list]) => ({ who, result: medianOf(list) })),
      ours.length,
    );
  }
}

function reportCase(
  { title, toNginx, toCaddy }: Case,
  lines: { who: Contender; result: Measured }[],
  ours: number,
): void {
  const [nginx, one, all] = lines.slice(ours);
  const goals = lines.slice(0, ours).flatMap(({ who, result }) =>
    [
      { peer: nginx, least: toNginx },
      { peer: one, least: toCaddy },
      { peer: all, least: toCaddy },
    ].flatMap(({ peer, least }) =>
      peer
        ? [
            {
              what: `${who.name} to ${peer.who.name}`,
              ratio: result.perSecond / peer.result.perSecond,
              least,
            },
          ]
        : [],
    ),
  );
  const named = lines.map(({ who, result }) => ({ name: who.name, result }));
  report(`${title}, median of ${rounds} rounds of ${seconds} s`, 'request', named, goals);
  for (const { who, result } of lines.slice(0, ours)) {
    const tail = result.p99Ms / result.p50Ms;
    console.log(
      `  ${who.name}: p99 to p50: ${tail.toFixed(2)}, goal <= ${tailMost}: ${tail <= tailMost ? 'PASS' : 'MISS'}`,
    );
  }
}

/** What the requests of a measurement carry; and that they are answered as they should be. */
async function headersFor(who: Contender, one: Case): Promise<Record<string, string>> {
  const host = { Host: who.host === '127.0.0.1' ? `127.0.0.1:${who.port}` : who.host };
  const first = await askHost(who.port, one.path, host);
  if (first.status !== 200 || first.bytes === 0) throw new Error(`${who.name} answered ${first.status}.`);
  if (!one.isConditional) return host;
  const headers = { ...host, 'If-None-Match': first.etag };
  const second = await askHost(who.port, one.path, headers);
  if (second.status !== 304) throw new Error(`${who.name} answered ${second.status} for 304.`);
  return headers;
}

const lua = (headers: Record<string, string>) =>
  Object.entries(headers)
    .map(([name, value]) => `wrk.headers["${name}"] = [[${value}]]`)
    .join('\n');

function medianOf(rounds: readonly Measured[]): Measured {
  const sorted = [...rounds].sort((a, b) => a.perSecond - b.perSecond);
  const middle = sorted[Math.floor(sorted.length / 2)];
  if (!middle) throw new Error('Nothing was measured.');
  return middle;
}

/** Words, so that it looks like a page; none of those who measure asks for it compressed. */
function page(bytes: number): Uint8Array<ArrayBuffer> {
  const words = ['light', 'sea', 'night', 'keeper', 'lamp', 'storm', 'harbour'];
  let text = '<!doctype html><title>Page</title>';
  for (let at = 0; text.length < bytes; at++) text += `<p>${words[(at * 5 + (at >> 3)) % 7]} ${at}</p>\n`;
  return new TextEncoder().encode(text.slice(0, bytes));
}
