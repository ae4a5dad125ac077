import type { Cleanup } from './cleanup.ts';
import { serverLoads } from './loads.ts';
import { type Measurement, measure, percentile } from './measure.ts';
import { type Prepared, prepare } from './prepare.ts';
import { runWrk } from './run-wrk.ts';
import type { Tools } from './tools.ts';

const rounds = 6;
const seconds = 3;
const costMax = 0.02;
const variables = ['SVC_RATE_LIMIT_PERSON', 'SVC_RATE_LIMIT_TOKEN', 'SVC_RATE_LIMIT_ADDRESS'];

/**
 * Point reads from two servers, with rate limits that are never reached and without any. They take turns; the median of
 * the rounds' ratios counts, because the load of the machine changes between rounds.
 */
export async function measureLimits(limited: Prepared, tools: Tools, cleanup: Cleanup): Promise<void> {
  const unlimited = await prepare(cleanup, Object.fromEntries(variables.map((name) => [name, '0'])));
  const run = ({ server, pat, reads, inserts }: Prepared): Promise<Measurement> => {
    const load = serverLoads({ port: server.port, pat, reads: reads.path, inserts: inserts.path }).point;
    const wrk = (time: number) => runWrk(tools.wrk, server.folder, load, { seconds: time, cleanup });
    return measure(
      { server: server.pid, postmaster: server.postmaster },
      () => wrk(1),
      () => wrk(seconds),
    );
  };
  const ratios: { cpu: number; speed: number }[] = [];
  for (let round = 0; round < rounds; round++) {
    const order = round % 2 === 0 ? [limited, unlimited] : [unlimited, limited];
    const results = new Map<Prepared, Measurement>();
    for (const each of order) results.set(each, await run(each));
    const [counted, free] = [results.get(limited), results.get(unlimited)];
    if (!counted || !free) throw new Error('Nothing was measured.');
    ratios.push({ cpu: counted.cpu.serverUs / free.cpu.serverUs, speed: counted.perSecond / free.perSecond });
  }
  const describe = (name: 'cpu' | 'speed') => {
    const all = ratios.map((ratio) => ratio[name]);
    const each = all.map((ratio) => ratio.toFixed(3)).join(' ');
    return { median: percentile(all, 0.5), each };
  };
  const [cpu, speed] = [describe('cpu'), describe('speed')];
  const verdict = cpu.median - 1 <= costMax ? 'met' : 'missed';
  console.log(`\nrate limits, point reads, ${rounds} rounds of ${seconds} s with limits to without`);
  console.log(
    `  processor of the server  ${cpu.median.toFixed(3)}  (goal at most 1.02: ${verdict})  ${cpu.each}`,
  );
  console.log(`  requests a second        ${speed.median.toFixed(3)}  ${speed.each}`);
}
