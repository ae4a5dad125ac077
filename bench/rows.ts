import { cpus } from 'node:os';
import { measureBatches } from './rows/batch-case.ts';
import { measureChanges } from './rows/changes-case.ts';
import { type Cleanup, withCleanup } from './rows/cleanup.ts';
import { categories, item, rowCount } from './rows/dataset.ts';
import { measureEmbeds } from './rows/embeds-case.ts';
import { measureConnectors, measurePolicies } from './rows/governed-case.ts';
import { measureLimits } from './rows/limits-case.ts';
import { type Loads, platformaticLoads, serverLoads } from './rows/loads.ts';
import {
  type CountedFigures,
  type Measurement,
  measure,
  medianRatio,
  medianRound,
  type Processes,
} from './rows/measure.ts';
import {
  captureStatement,
  computedId,
  fixedId,
  pgbenchScript,
  randomId,
  type Script,
} from './rows/pgbench-script.ts';
import { type Peer, startPlatformatic } from './rows/platformatic.ts';
import { type Prepared, prepare } from './rows/prepare.ts';
import { report, reportTail } from './rows/report.ts';
import { runPgbench } from './rows/run-pgbench.ts';
import { runWrk } from './rows/run-wrk.ts';
import { workers } from './rows/start-server.ts';
import { findTools, type Tools } from './rows/tools.ts';
import { flag } from './static/flags.ts';

const rounds = flag('rounds', 5);
const warmUpSeconds = 1;
const seconds = 3;

type CaseName = keyof Loads;
/** Goals of one worker against the better pgbench, and of several against pgbench with 32 connections. */
const cases: Record<CaseName, { title: string; toPgbench: number; ofWorkers: number; toPeer: number }> = {
  point: { title: 'point read by id', toPgbench: 0.65, ofWorkers: 0.75, toPeer: 4 },
  list: { title: 'list 20 with filter and sort', toPgbench: 0.65, ofWorkers: 0.75, toPeer: 3.5 },
  insert: { title: 'insert one row', toPgbench: 0.65, ofWorkers: 0, toPeer: 2 },
};
const batchToCopy = 0.65;

/**
 * The row API against pgbench with the same statements, and against a peer with the same rows. `--only=<case>`,
 * `--no-peer`, `--workers=2`.
 */
export async function main(): Promise<void> {
  const only = process.argv.find((arg) => arg.startsWith('--only='))?.slice('--only='.length) ?? null;
  const tools = findTools();
  await withCleanup(async (cleanup) => {
    const prepared = await prepare(cleanup, { SVC_CONNECTOR_NETWORKS: '127.0.0.0/8' });
    const peer = process.argv.includes('--no-peer')
      ? null
      : await startPlatformatic(prepared.server, tools, cleanup);
    await printMachine(prepared);
    for (const name of Object.keys(cases) as CaseName[]) {
      if (only === null || only === name) await measureCase(name, prepared, peer, tools, cleanup);
    }
    // Before the policies, which the tenant keeps.
    if (only === null || only === 'batch') await reportBatches(prepared, tools, cleanup);
    if (only === null || only === 'embeds') await measureEmbeds(prepared, tools, cleanup);
    if (only === null || only === 'governed' || only === 'policies')
      await measurePolicies(prepared, tools, cleanup);
    if (only === null || only === 'governed' || only === 'connectors')
      await measureConnectors(prepared, tools, cleanup);
    if (only === null || only === 'changes') await measureChanges(prepared, tools, cleanup);
    if (only === null || only === 'limits') await measureLimits(prepared, tools, cleanup);
  });
}

async function reportBatches(prepared: Prepared, tools: Tools, cleanup: Cleanup): Promise<void> {
  const { svc, copy } = await measureBatches(prepared, tools, { rounds, cleanup });
  const lines = [
    { name: 'svc', result: medianRound(svc) },
    { name: 'COPY, 2 x psql', result: medianRound(copy) },
  ];
  const ratio = medianRatio(rates(svc), rates(copy));
  report('JSONL batches of 5,000, 2 at once', 'row', lines, [
    { what: 'svc to COPY', ratio, min: batchToCopy },
  ]);
  reportTail(medianRound(svc));
}

const rates = (list: readonly Measurement[]) => list.map(({ perSecond }) => perSecond);

async function measureCase(
  name: CaseName,
  prepared: Prepared,
  peer: Peer | null,
  tools: Tools,
  cleanup: Cleanup,
): Promise<void> {
  const { server, pat, reads, inserts } = prepared;
  const load = serverLoads({ port: server.port, pat, reads: reads.path, inserts: inserts.path })[name];
  const script = await scriptFor(name, prepared);
  const { postmaster } = server;

  const wrk = (load: Loads[CaseName], pid: number) => () => {
    const run = (time: number) => runWrk(tools.wrk, server.folder, load, { seconds: time, cleanup });
    return measureWarm({ server: pid, postmaster }, run);
  };
  const pgbench = (connections: number) => () =>
    measureWarm({ server: null, postmaster }, (time) =>
      runPgbench(tools.pgbench, server, script, { name, connections, seconds: time, cleanup }),
    );
  const contenders: [string, () => Promise<Measurement>][] = [
    [workers > 1 ? `svc, ${workers} workers` : 'svc', wrk(load, server.pid)],
    ['pgbench, 32 connections', pgbench(32)],
    ['pgbench, 8 connections', pgbench(8)],
  ];
  if (peer) contenders.push([peer.name, wrk(platformaticLoads(peer.port)[name], peer.pid)]);

  const results = new Map<string, Measurement[]>(contenders.map(([contender]) => [contender, []]));
  for (let round = 0; round < rounds; round++) {
    for (const [contender, run] of round % 2 === 0 ? contenders : contenders.toReversed()) {
      results.get(contender)?.push(await run());
    }
  }
  const lines = [...results].map(([contender, list]) => ({ name: contender, result: medianRound(list) }));
  const [svc, pgbench32, pgbench8, ofPeer] = [...results.values()].map(rates);
  if (!svc || !pgbench32 || !pgbench8) return;
  const { title, toPgbench, ofWorkers, toPeer } = cases[name];
  const hasWorkers = workers > 1;
  const limit = pgbench32.map((perSecond, at) => Math.max(perSecond, pgbench8[at] ?? 0));
  report(title, 'request', lines, [
    { what: 'svc to the better pgbench', ratio: medianRatio(svc, limit), min: hasWorkers ? 0 : toPgbench },
    {
      what: 'svc to pgbench with 32 connections',
      ratio: medianRatio(svc, pgbench32),
      min: hasWorkers ? ofWorkers : 0,
    },
    ...(ofPeer && peer
      ? [{ what: `svc to ${peer.name}`, ratio: medianRatio(svc, ofPeer), min: toPeer }]
      : []),
  ]);
  const [own] = lines;
  if (own) reportTail(own.result);
  if (name === 'point') await reportIdCost(prepared, tools, cleanup);

  function measureWarm(
    processes: Processes,
    run: (time: number) => Promise<CountedFigures>,
  ): Promise<Measurement> {
    return measure(
      processes,
      () => run(warmUpSeconds),
      () => run(seconds),
    );
  }
}

async function scriptFor(name: CaseName, prepared: Prepared): Promise<Script> {
  const statement = await captureStatement(prepared.server, () => request(name, prepared));
  const category = { set: `\\set category random(0, ${categories - 1})`, sql: ':category::int4' };
  switch (name) {
    case 'point':
      return pgbenchScript(statement, { uuid: randomId(rowCount) }, null);
    case 'list':
      return pgbenchScript(statement, { int4: category }, null);
    case 'insert':
      return pgbenchScript(statement, { uuid: { set: '', sql: 'uuidv7()' }, int4: category }, item(1));
  }
}

async function request(name: CaseName, { server, pat, reads, inserts }: Prepared): Promise<void> {
  const { id, ...body } = item(1);
  const base = `http://127.0.0.1:${server.port}`;
  const headers = { 'x-api-key': pat, 'content-type': 'application/json' };
  const list = `${base}${reads.path}?category=eq.1&sort=-created_at&per_page=20`;
  const response = await {
    point: () => fetch(`${base}${reads.path}/${id}`, { headers }),
    list: () => fetch(list, { headers }),
    insert: () => fetch(base + inserts.path, { method: 'POST', headers, body: JSON.stringify(body) }),
  }[name]();
  if (!response.ok) throw new Error(`${name}: ${response.status} ${await response.text()}`);
}

/** pgbench has no varying text variables, so SQL computes the id; measures the cost of that. */
async function reportIdCost(prepared: Prepared, tools: Tools, cleanup: Cleanup): Promise<void> {
  const { server } = prepared;
  const statement = await captureStatement(server, () => request('point', prepared));
  const run = async (name: string, script: Script) => {
    const timed = (seconds: number) =>
      runPgbench(tools.pgbench, server, script, { name, connections: 8, seconds, cleanup });
    const processes = { server: null, postmaster: server.postmaster };
    const result = await measure(
      processes,
      () => timed(1),
      () => timed(4),
    );
    return result.perSecond;
  };
  const fixedScript = pgbenchScript(statement, { uuid: fixedId }, null);
  const computedScript = pgbenchScript(statement, { uuid: computedId }, null);
  const fixed = await run('fixed-id', { ...fixedScript, fixed: { id: item(4711).id } });
  const computed = await run('computed-id', { ...computedScript, fixed: { i: '4711' } });
  console.log(
    `  (pgbench computes the id in SQL; with a fixed id it runs ${(fixed / computed).toFixed(3)}x as many)`,
  );
}

async function printMachine({ server }: Prepared): Promise<void> {
  const [version] = await server.sql<{ version: string }>(
    "select current_setting('server_version') as version",
  );
  const processors = cpus();
  console.log(
    `${new Date().toISOString().slice(0, 10)}, ${processors.length} cores (${processors[0]?.model ?? process.arch}), ` +
      `Bun ${Bun.version}, PostgreSQL ${version?.version}; medians of ${rounds} rounds of ${seconds} s after ` +
      `${warmUpSeconds} s of warm-up; ${rowCount.toLocaleString('en')} rows`,
  );
}
