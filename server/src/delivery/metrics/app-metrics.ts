import { latencyBoundsMs, metricsKeptDays } from '@svc/contract/app-metrics.ts';
import type { Logger } from 'pino';
import type { Db } from '../../core/db.ts';
import type { Runtime } from '../../drivers/runtime/runtime.ts';
import { addCpuTime, claimSamples } from '../deployments/instances.ts';
import { addMinute, deleteOldMinutes, type MinuteRow } from './store.ts';

/** Counted in memory and written every few seconds. */
export interface AppMetrics {
  /** `ms`: time to first byte, negative if not measured. */
  note(appId: string, status: number, bytes: number, ms: number): void;
  noteUsage(process: AppProcess, used: { cpuMs: number; memoryBytes: number }): void;
  /** Of all apps, for `/metrics`. */
  totals(): { requests: number; bytesOut: number };
  start(): void;
  flush(): Promise<void>;
  stop(): Promise<void>;
}

interface AppProcess {
  appId: string;
  process: string;
}

export type Counts = Omit<MinuteRow, 'appId' | 'process' | 'minute'> & {
  byStatus: number[];
  latency: number[];
};

interface MinuteCounts extends AppProcess {
  minute: number;
  counts: Counts;
}

const flushEveryMs = 10_000;

export function createAppMetrics({ db, log, now }: { db: Db; log: Logger; now: () => Date }): AppMetrics {
  let counted = new Map<string, MinuteCounts>();
  let writing = Promise.resolve();
  const total = { requests: 0, bytesOut: 0 };
  let timer: Timer | undefined;

  function countsFor({ appId, process }: AppProcess, minute = minuteOf(now())): Counts {
    const key = `${appId} ${process} ${minute}`;
    let entry = counted.get(key);
    if (entry === undefined) {
      entry = { appId, process, minute, counts: emptyCounts() };
      counted.set(key, entry);
    }
    return entry.counts;
  }

  async function write(): Promise<void> {
    const batch = counted;
    counted = new Map();
    for (const { appId, process, minute, counts } of batch.values()) {
      await addMinute(db, { appId, process, minute: new Date(minute), ...counts }).catch((error: unknown) => {
        // Retried with the next flush, up to a limit.
        log.warn({ err: error, app: appId }, 'write of app metrics failed');
        if (counted.size < bufferedMinutesMax) addCounts(countsFor({ appId, process }, minute), counts);
      });
    }
  }

  /** Flushes run one after the other. */
  function flush(): Promise<void> {
    writing = writing.then(write);
    return writing;
  }

  return {
    note(appId, status, bytes, ms) {
      const counts = countsFor({ appId, process: 'web' });
      counts.requests++;
      counts.bytesOut += bytes;
      const at = status < 300 ? 0 : status < 400 ? 1 : status < 500 ? 2 : 3;
      counts.byStatus[at] = (counts.byStatus[at] ?? 0) + 1;
      if (ms >= 0) {
        const bucket = latencyBucket(ms);
        counts.latency[bucket] = (counts.latency[bucket] ?? 0) + 1;
      }
      total.requests++;
      total.bytesOut += bytes;
    },
    noteUsage(process, { cpuMs, memoryBytes }) {
      const counts = countsFor(process);
      counts.cpuMs += Math.max(0, Math.round(cpuMs));
      counts.memoryBytes = Math.max(counts.memoryBytes, Math.round(memoryBytes));
    },
    totals: () => total,
    start() {
      timer = setInterval(() => void flush(), flushEveryMs);
      timer.unref();
    },
    flush,
    async stop() {
      clearInterval(timer);
      await flush();
    },
  };
}

const bufferedMinutesMax = 10_000;
const minuteOf = (at: Date) => Math.floor(at.getTime() / 60_000) * 60_000;

export function emptyCounts(): Counts {
  return {
    requests: 0,
    byStatus: [0, 0, 0, 0],
    latency: Array.from({ length: latencyBoundsMs.length + 1 }, () => 0),
    bytesOut: 0,
    cpuMs: 0,
    memoryBytes: 0,
  };
}

export function addCounts(to: Counts, more: Omit<MinuteRow, 'appId' | 'process' | 'minute'>): void {
  to.requests += more.requests;
  to.bytesOut += more.bytesOut;
  to.cpuMs += more.cpuMs;
  to.memoryBytes = Math.max(to.memoryBytes, more.memoryBytes);
  for (const [at, count] of more.byStatus.entries()) to.byStatus[at] = (to.byStatus[at] ?? 0) + count;
  for (const [at, count] of more.latency.entries()) to.latency[at] = (to.latency[at] ?? 0) + count;
}

function latencyBucket(ms: number): number {
  const bucket = latencyBoundsMs.findIndex((bound) => ms <= bound);
  return bucket < 0 ? latencyBoundsMs.length : bucket;
}

/** Earlier samples are in the database: instances may outlive a server process, and several processes may see the same ones. */
export function createUsageSampler({
  db,
  runtime,
  metrics,
}: {
  db: Db;
  runtime: Pick<Runtime, 'usage' | 'node'>;
  metrics: Pick<AppMetrics, 'noteUsage'>;
}): { sample(): Promise<void> } {
  return {
    async sample() {
      const sums = new Map<string, AppProcess & { cpuMs: number; memoryBytes: number }>();
      for (const instance of await claimSamples(db, runtime.node)) {
        const used = await runtime.usage(instance).catch(() => null);
        const cpuMs = used && (await addCpuTime(db, instance, used));
        if (used === null || cpuMs === null) continue;
        const { appId, process } = instance;
        const key = `${appId} ${process}`;
        const sum = sums.get(key) ?? { appId, process, cpuMs: 0, memoryBytes: 0 };
        sum.cpuMs += cpuMs;
        sum.memoryBytes += used.memoryBytes;
        sums.set(key, sum);
      }
      for (const sum of sums.values()) metrics.noteUsage(sum, sum);
    },
  };
}

export async function deleteExpiredMetrics(db: Db): Promise<void> {
  await deleteOldMinutes(db, metricsKeptDays);
}
