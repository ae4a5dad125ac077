import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Cleanup } from './cleanup.ts';
import { copyLines, jsonLines, rowCount } from './dataset.ts';
import { type Measurement, measure, percentile } from './measure.ts';
import { linesPerBatch, type Prepared, refill, sendBatch } from './prepare.ts';
import { runPsqlSessions } from './run-psql.ts';
import type { Tools } from './tools.ts';

const batchesPerRound = 20;
/** Below the limit of 200 batches per minute and app, because loading the initial rows counts too. */
const batchesPerMinuteMax = 170;
const warmUpBatches = 2;
const parallelBatches = 2;

/** Batches of 5,000 rows, two concurrent, against as many COPY commands with the same rows; in rows per second. */
export async function measureBatches(
  prepared: Prepared,
  tools: Tools,
  options: { rounds: number; cleanup: Cleanup },
): Promise<{ svc: Measurement[]; copy: Measurement[] }> {
  const { server, reads, batches } = prepared;
  const copied = 'bench.copied';
  await server.sql('create schema if not exists bench');
  await server.sql(`create table ${copied} (like ${batches.physical} including all)`);
  const bodies = Array.from({ length: batchesPerRound }, (_, at) =>
    jsonLines(rowCount + at * linesPerBatch, linesPerBatch, 'generated'),
  );
  const sentAt: number[] = [];
  const svc: Measurement[] = [];
  const copy: Measurement[] = [];
  const rows = batchesPerRound * linesPerBatch;

  const measureApi = async () => {
    const processes = { server: server.pid, postmaster: server.postmaster };
    const warmUp = async () => {
      await waitUntilAllowed();
      await refill(server, reads, batches.physical);
      await sendAll(bodies.slice(0, warmUpBatches));
    };
    const result = await measure(processes, warmUp, async () => {
      const startedAt = performance.now();
      const times = await sendAll(bodies);
      return figures(times, (performance.now() - startedAt) / 1000);
    });
    svc.push(result);
  };
  const measureCopy = async () => {
    const files = Array.from({ length: batchesPerRound }, (_, at) => {
      const file = join(server.folder, `batch-${at}.copy`);
      const lines = { ids: 'generated', version: '1' } as const;
      writeFileSync(file, copyLines(rowCount + at * linesPerBatch, linesPerBatch, lines));
      return file;
    });
    const warmUp = () => refill(server, reads, copied);
    const result = await measure({ server: null, postmaster: server.postmaster }, warmUp, async () => {
      const sessions = Array.from({ length: parallelBatches }, (_, session) =>
        files
          .filter((_, at) => at % parallelBatches === session)
          .map((file) => `\\copy ${copied} from '${file}'`),
      );
      const { seconds } = await runPsqlSessions(tools.psql, server, {
        database: 'svc',
        sessions,
        cleanup: options.cleanup,
      });
      const each = (seconds * 1000 * parallelBatches) / batchesPerRound;
      return figures([each], seconds);
    });
    copy.push(result);
  };

  for (let round = 0; round < options.rounds; round++) {
    for (const run of round % 2 === 0 ? [measureCopy, measureApi] : [measureApi, measureCopy]) await run();
  }
  return { svc, copy };

  async function waitUntilAllowed(): Promise<void> {
    const countLastMinute = () => sentAt.filter((time) => performance.now() - time < 62_000).length;
    while (countLastMinute() + warmUpBatches + batchesPerRound > batchesPerMinuteMax) await Bun.sleep(500);
  }

  async function sendAll(list: readonly string[]): Promise<number[]> {
    const times: number[] = [];
    let next = 0;
    const client = async () => {
      for (;;) {
        const body = list[next++];
        if (body === undefined) return;
        const startedAt = performance.now();
        sentAt.push(startedAt);
        await sendBatch(prepared, batches, body);
        times.push(performance.now() - startedAt);
      }
    };
    await Promise.all(Array.from({ length: parallelBatches }, client));
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
