import { cpus } from 'node:os';
import { measureBatches } from './rows/batch-case.ts';
import { type Cleanup, withCleanup } from './rows/cleanup.ts';
import { categories, item, rowCount } from './rows/dataset.ts';
import { type Loads, loadsOfPlatformatic, loadsOfServer } from './rows/loads.ts';
import { bestOf, type Counted, type Measured, measured, type Parts } from './rows/measured.ts';
import { type Peer, startPlatformatic } from './rows/platformatic.ts';
import { type Prepared, prepare } from './rows/prepare.ts';
import { report, reportTail } from './rows/report.ts';
import { runPgbench } from './rows/run-pgbench.ts';
import { runWrk } from './rows/run-wrk.ts';
import { computedId, fixedId, randomId, type Script, scriptOf, statementOf } from './rows/statement-of.ts';
import { findTools, type Tools } from './rows/tools.ts';

const rounds = 2;
const warmUpSeconds = 2;
const seconds = 8;

type CaseName = keyof Loads;
const cases: Record<CaseName, { title: string; toPgbench: number; toPeer: number }> = {
  point: { title: 'point read by id', toPgbench: 0.7, toPeer: 4 },
  list: { title: 'list 20 with filter and sort', toPgbench: 0.65, toPeer: 3.5 },
  insert: { title: 'insert one row', toPgbench: 0.6, toPeer: 2 },
};
const batchToCopy = 0.5;

/** The row API against pgbench with the statements it sends, and against a peer, over the same rows. `--only=<case>`, `--no-peer`. */
export async function main(): Promise<void> {
  const only = process.argv.find((arg) => arg.startsWith('--only='))?.slice('--only='.length) ?? null;
  const tools = findTools();
  await withCleanup(async (cleanup) => {
    const prepared = await prepare(cleanup);
    const peer = process.argv.includes('--no-peer')
      ? null
      : await startPlatformatic(prepared.server, tools, cleanup);
    await printMachine(prepared);
    for (const name of Object.keys(cases) as CaseName[]) {
      if (only === null || only === name) await measureCase(name, prepared, peer, tools, cleanup);
    }
    if (only !== null && only !== 'batch') return;
    const { svc, copy } = await measureBatches(prepared, tools, { rounds, cleanup });
    const lines = [
      { name: 'svc', result: svc },
      { name: 'COPY, 2 x psql', result: copy },
    ];
    const ratio = svc.perSecond / copy.perSecond;
    report('JSONL batches of 5,000, 2 at once', 'row', lines, [
      { what: 'svc to COPY', ratio, least: batchToCopy },
    ]);
    reportTail(svc);
  });
}

async function measureCase(
  name: CaseName,
  prepared: Prepared,
  peer: Peer | null,
  tools: Tools,
  cleanup: Cleanup,
): Promise<void> {
  const { server, pat, reads, inserts } = prepared;
  const ours = loadsOfServer({ port: server.port, pat, reads: reads.path, inserts: inserts.path })[name];
  const script = await scriptFor(name, prepared);
  const { postmaster } = server;

  const wrk = (load: Loads[CaseName], pid: number) => () => {
    const run = (time: number) => runWrk(tools.wrk, server.folder, load, { seconds: time, cleanup });
    return warmed({ server: pid, postmaster }, run);
  };
  const pgbench = (connections: number) => () =>
    warmed({ server: null, postmaster }, (time) =>
      runPgbench(tools.pgbench, server, script, { name, connections, seconds: time, cleanup }),
    );
  const contenders: [string, () => Promise<Measured>][] = [
    ['svc', wrk(ours, server.pid)],
    ['pgbench, 32 connections', pgbench(32)],
    ['pgbench, 8 connections', pgbench(8)],
  ];
  if (peer) contenders.push([peer.name, wrk(loadsOfPlatformatic(peer.port)[name], peer.pid)]);

  const results = new Map<string, Measured[]>(contenders.map(([who]) => [who, []]));
  for (let round = 0; round < rounds; round++) {
    for (const [who, run] of round % 2 === 0 ? contenders : contenders.toReversed()) {
      results.get(who)?.push(await run());
    }
  }
  const best = [...results].map(([who, list]) => ({ name: who, result: bestOf(list) }));
  const [svc, wide, narrow, other] = best.map(({ result }) => result);
  if (!svc || !wide || !narrow) return;
  const { title, toPgbench, toPeer } = cases[name];
  const limit = Math.max(wide.perSecond, narrow.perSecond);
  report(title, 'request', best, [
    { what: 'svc to the better pgbench', ratio: svc.perSecond / limit, least: toPgbench },
    { what: 'svc to pgbench with 32 connections', ratio: svc.perSecond / wide.perSecond, least: 0 },
    ...(other && peer
      ? [{ what: `svc to ${peer.name}`, ratio: svc.perSecond / other.perSecond, least: toPeer }]
      : []),
  ]);
  reportTail(svc);
  if (name === 'point') await reportCostOfIds(prepared, tools, cleanup);

  function warmed(parts: Parts, run: (time: number) => Promise<Counted>): Promise<Measured> {
    return measured(
      parts,
      () => run(warmUpSeconds),
      () => run(seconds),
    );
  }
}

/** The statement that the server sends, with values that differ as those of the requests do. */
async function scriptFor(name: CaseName, prepared: Prepared): Promise<Script> {
  const statement = await statementOf(prepared.server, () => request(name, prepared));
  const category = { set: `\\set category random(0, ${categories - 1})`, sql: ':category::int4' };
  switch (name) {
    case 'point':
      return scriptOf(statement, { uuid: randomId(rowCount) }, null);
    case 'list':
      return scriptOf(statement, { int4: category }, null);
    case 'insert':
      // The server makes the id itself, of the same kind.
      return scriptOf(statement, { uuid: { set: '', sql: 'uuidv7()' }, int4: category }, item(1));
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

/** pgbench has no text variables that vary, so the id is worked out in SQL: what that costs it. */
async function reportCostOfIds(prepared: Prepared, tools: Tools, cleanup: Cleanup): Promise<void> {
  const { server } = prepared;
  const statement = await statementOf(server, () => request('point', prepared));
  const run = async (name: string, script: Script) => {
    const timed = (seconds: number) =>
      runPgbench(tools.pgbench, server, script, { name, connections: 8, seconds, cleanup });
    const parts = { server: null, postmaster: server.postmaster };
    const result = await measured(
      parts,
      () => timed(1),
      () => timed(4),
    );
    return result.perSecond;
  };
  const given = scriptOf(statement, { uuid: fixedId }, null);
  const worked = scriptOf(statement, { uuid: computedId }, null);
  const fixed = await run('fixed-id', { ...given, fixed: { id: item(4711).id } });
  const computed = await run('computed-id', { ...worked, fixed: { i: '4711' } });
  console.log(
    `  (pgbench works the id out in SQL; with an id given it does ${(fixed / computed).toFixed(3)}x as many)`,
  );
}

async function printMachine({ server }: Prepared): Promise<void> {
  const [version] = await server.sql<{ version: string }>(
    "select current_setting('server_version') as version",
  );
  const processors = cpus();
  console.log(
    `${new Date().toISOString().slice(0, 10)}, ${processors.length} cores (${processors[0]?.model ?? process.arch}), ` +
      `Bun ${Bun.version}, PostgreSQL ${version?.version}; best of ${rounds} rounds of ${seconds} s after ` +
      `${warmUpSeconds} s of warm-up; ${rowCount.toLocaleString('en')} rows`,
  );
}
