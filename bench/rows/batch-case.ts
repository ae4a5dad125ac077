import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Cleanup } from './cleanup.ts';
import { copyLines, jsonLines, rowCount } from './dataset.ts';
import { bestOf, type Measured, measured, percentile } from './measured.ts';
import { linesPerBatch, type Prepared, refill, sendBatch } from './prepare.ts';
import { psqlRuns } from './run-copy.ts';
import type { Tools } from './tools.ts';

const batchesPerRound = 60;
/** Below the 200 that an app may send, for those that made the rows at the beginning. */
const batchesPerMinuteMost = 170;
const warmUpBatches = 6;
const atOnce = 2;

/** Batches of 5,000 rows, two under way at a time, against as many COPYs of the same rows; in rows per second. */
export async function measureBatches(
  prepared: Prepared,
  tools: Tools,
  options: { rounds: number; cleanup: Cleanup },
): Promise<{ svc: Measured; copy: Measured }> {
  const { server, reads, batches } = prepared;
  const copied = 'bench.copied';
  await server.sql('create schema if not exists bench');
  await server.sql(`create table ${copied} (like ${batches.physical} including all)`);
  const bodies = Array.from({ length: batchesPerRound }, (_, at) =>
    jsonLines(rowCount + at * linesPerBatch, linesPerBatch, 'made'),
  );
  const sentAt: number[] = [];
  const svc: Measured[] = [];
  const copy: Measured[] = [];
  const rows = batchesPerRound * linesPerBatch;

  const api = async () => {
    const parts = { server: server.pid, postmaster: server.postmaster };
    const warmUp = async () => {
      await untilAllowed();
      await refill(server, reads, batches.physical);
      await sendAll(bodies.slice(0, warmUpBatches));
    };
    const result = await measured(parts, warmUp, async () => {
      const begun = performance.now();
      const times = await sendAll(bodies);
      return figures(times, (performance.now() - begun) / 1000);
    });
    svc.push(result);
  };
  const copies = async () => {
    const files = Array.from({ length: batchesPerRound }, (_, at) => {
      const file = join(server.folder, `batch-${at}.copy`);
      const lines = { ids: 'made', version: '1' } as const;
      writeFileSync(file, copyLines(rowCount + at * linesPerBatch, linesPerBatch, lines));
      return file;
    });
    const warmUp = () => refill(server, reads, copied);
    const result = await measured({ server: null, postmaster: server.postmaster }, warmUp, async () => {
      const sessions = Array.from({ length: atOnce }, (_, session) =>
        files.filter((_, at) => at % atOnce === session).map((file) => `\\copy ${copied} from '${file}'`),
      );
      const { seconds } = await psqlRuns(tools.psql, server, {
        database: 'svc',
        sessions,
        cleanup: options.cleanup,
      });
      const each = (seconds * 1000 * atOnce) / batchesPerRound;
      return figures([each], seconds);
    });
    copy.push(result);
  };

  for (let round = 0; round < options.rounds; round++) {
    for (const run of round % 2 === 0 ? [copies, api] : [api, copies]) await run();
  }
  return { svc: bestOf(svc), copy: bestOf(copy) };

  async function untilAllowed(): Promise<void> {
    const ofLastMinute = () => sentAt.filter((time) => performance.now() - time < 62_000).length;
    while (ofLastMinute() + warmUpBatches + batchesPerRound > batchesPerMinuteMost) await Bun.sleep(500);
  }

  async function sendAll(list: readonly string[]): Promise<number[]> {
    const times: number[] = [];
    let next = 0;
    const client = async () => {
      for (;;) {
        const body = list[next++];
        if (body === undefined) return;
        const begun = performance.now();
        sentAt.push(begun);
        await sendBatch(prepared, batches, body);
        times.push(performance.now() - begun);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, client));
    return times;
  }

  function figures(times: readonly number[], seconds: number) {
    return {
      count: rows,
      seconds,
      perSecond: rows / seconds,
      p50Ms: percentile(times, 0.5),
      p99Ms: percentile(times, 0.99),
    };
  }
}
