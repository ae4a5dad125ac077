import type { Cleanup } from './cleanup.ts';
import { columns, indexColumns, jsonLines, rowCount } from './dataset.ts';
import { takeTurns, turn } from './governed-case.ts';
import { serverLoads } from './loads.ts';
import { percentile } from './measure.ts';
import { linesPerBatch, type Prepared, sendBatch } from './prepare.ts';
import { runWrk } from './run-wrk.ts';
import { createTable, type Table } from './start-server.ts';
import type { Tools } from './tools.ts';

const changesMin = 0.85;
const batchesPerTurn = 6;

/** What the log of changes costs those who write: the same rows into tables with and without it. */
export async function measureChanges(prepared: Prepared, tools: Tools, cleanup: Cleanup): Promise<void> {
  const { server, pat } = prepared;
  const app = { slug: 'bench', base: '/api/v1/tenants/demo/apps/bench' };
  const create = (name: string) => createTable(server, app, { name, columns, index: indexColumns });
  const [without, logged] = [await create('unlogged'), await create('logged')];
  await server.call('PATCH', `${app.base}/tables/logged`, { changes: true });
  const inserts = ({ path }: Table) => {
    const { insert } = serverLoads({ port: server.port, pat, reads: path, inserts: path });
    const load = { ...insert, name: `${insert.name}${path.replaceAll('/', '-')}` };
    return turn((seconds) => runWrk(tools.wrk, server.folder, load, { seconds, cleanup }), prepared);
  };
  await takeTurns('inserts with a change feed to without', changesMin, {
    without: inserts(without),
    'a change feed': inserts(logged),
  });
  let sent = 0;
  const batches = (table: Table) =>
    turn(async () => {
      const times: number[] = [];
      for (let batch = 0; batch < batchesPerTurn; batch++) {
        const body = jsonLines(rowCount + sent++ * linesPerBatch, linesPerBatch, 'generated');
        const since = performance.now();
        await sendBatch(prepared, table, body);
        times.push(performance.now() - since);
      }
      const seconds = times.reduce((sum, ms) => sum + ms, 0) / 1000;
      const count = batchesPerTurn * linesPerBatch;
      const [p50Ms, p99Ms] = [percentile(times, 0.5), percentile(times, 0.99)];
      return { count, seconds, perSecond: count / seconds, p50Ms, p99Ms };
    }, prepared);
  await takeTurns('batches of 5,000 rows with a change feed to without', changesMin, {
    without: batches(without),
    'a change feed': batches(logged),
  });
}
