import { latencyBoundsMs } from '@svc/contract/app-metrics.ts';
import type { Logger } from 'pino';
import type { Db } from '../plumbing/db.ts';
import { addMinute, type MinuteRow } from './store.ts';

/** What apps were asked and what they use: counted in memory, added to the tables now and then. */
export interface AppMetrics {
  /** `ms` until the answer began; below zero where it was not measured. */
  note(appId: string, status: number, bytes: number, ms: number): void;
  noteUsage(appId: string, used: { cpuMs: number; memoryBytes: number }): void;
  /** Of all apps together, for `/metrics`. */
  totals(): { requests: number; bytesOut: number };
  start(): void;
  flush(): Promise<void>;
  stop(): Promise<void>;
}

export type Counts = Omit<MinuteRow, 'appId' | 'minute'> & { byStatus: number[]; latency: number[] };

/** By app and minute: they are written up to ten seconds after they were counted. */
interface Counted {
  appId: string;
  minute: number;
  counts: Counts;
}

const everyMs = 10_000;

export function createAppMetrics({ db, log, now }: { db: Db; log: Logger; now: () => Date }): AppMetrics {
  let counted = new Map<string, Counted>();
  let writing = Promise.resolve();
  const total = { requests: 0, bytesOut: 0 };
  let timer: Timer | undefined;

  function of(appId: string, minute = minuteOf(now())): Counts {
    const key = `${appId} ${minute}`;
    let place = counted.get(key);
    if (place === undefined) {
      place = { appId, minute, counts: noCounts() };
      counted.set(key, place);
    }
    return place.counts;
  }

  async function write(): Promise<void> {
    const taken = counted;
    counted = new Map();
    for (const { appId, minute, counts } of taken.values()) {
      await addMinute(db, { appId, minute: new Date(minute), ...counts }).catch((error: unknown) => {
        // Kept for the next time; what can not be written for long is not worth the memory.
        log.warn({ err: error, app: appId }, 'figures of an app could not be written');
        if (counted.size < keptMax) add(of(appId, minute), counts);
      });
    }
  }

  /** One after the other: who waits for theirs has waited for those before it. */
  function flush(): Promise<void> {
    writing = writing.then(write);
    return writing;
  }

  return {
    note(appId, status, bytes, ms) {
      const counts = of(appId);
      counts.requests++;
      counts.bytesOut += bytes;
      const at = status < 300 ? 0 : status < 400 ? 1 : status < 500 ? 2 : 3;
      counts.byStatus[at] = (counts.byStatus[at] ?? 0) + 1;
      if (ms >= 0) {
        const place = placeOf(ms);
        counts.latency[place] = (counts.latency[place] ?? 0) + 1;
      }
      total.requests++;
      total.bytesOut += bytes;
    },
    noteUsage(appId, { cpuMs, memoryBytes }) {
      const counts = of(appId);
      counts.cpuMs += Math.max(0, Math.round(cpuMs));
      counts.memoryBytes = Math.max(counts.memoryBytes, Math.round(memoryBytes));
    },
    totals: () => total,
    start() {
      timer = setInterval(() => void flush(), everyMs);
      timer.unref();
    },
    flush,
    async stop() {
      clearInterval(timer);
      await flush();
    },
  };
}

const keptMax = 10_000;
const minuteOf = (at: Date) => Math.floor(at.getTime() / 60_000) * 60_000;

export function noCounts(): Counts {
  return {
    requests: 0,
    byStatus: [0, 0, 0, 0],
    latency: Array.from({ length: latencyBoundsMs.length + 1 }, () => 0),
    bytesOut: 0,
    cpuMs: 0,
    memoryBytes: 0,
  };
}

export function add(to: Counts, more: Omit<MinuteRow, 'appId' | 'minute'>): void {
  to.requests += more.requests;
  to.bytesOut += more.bytesOut;
  to.cpuMs += more.cpuMs;
  to.memoryBytes = Math.max(to.memoryBytes, more.memoryBytes);
  for (const [at, count] of more.byStatus.entries()) to.byStatus[at] = (to.byStatus[at] ?? 0) + count;
  for (const [at, count] of more.latency.entries()) to.latency[at] = (to.latency[at] ?? 0) + count;
}

function placeOf(ms: number): number {
  const place = latencyBoundsMs.findIndex((bound) => ms <= bound);
  return place < 0 ? latencyBoundsMs.length : place;
}
