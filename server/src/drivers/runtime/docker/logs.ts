import type { Lock } from '../../database/lock-file.ts';
import type { LogSink } from '../runtime.ts';
import { type Following, followLog } from './follow-log.ts';
import { createLogCursors, type LogCursor } from './log-cursor.ts';
import type { Parts } from './parts.ts';

/** What instances say, heard by whoever started them, and by the same data dir's next server after it. */
export interface Logs {
  follow(wish: {
    instanceId: string;
    services: readonly string[];
    memoryMb: number | null;
    log: LogSink;
  }): void;
  isFollowed(instanceId: string): boolean;
  /** Whether a server of this data dir began to hear it. */
  isOurs(instanceId: string): boolean;
  finish(instanceId: string): Promise<void>;
  forget(instanceId: string): void;
  close(): Promise<void>;
}

const writeEveryMs = 250;

export function createLogs(parts: Parts): Logs {
  const cursors = createLogCursors(parts.logsDir);
  const followed = new Map<string, { all: Following[]; save: () => void; lock: Lock }>();
  return {
    isFollowed: (instanceId) => followed.has(instanceId),
    isOurs: (instanceId) => cursors.has(instanceId),
    follow({ instanceId, services, memoryMb, log }) {
      if (followed.has(instanceId)) return;
      // Another server in the same data dir may be at it.
      const lock = cursors.lock(instanceId);
      if (lock === null) return;
      const now: Record<string, LogCursor> = cursors.read(instanceId);
      let timer: Timer | undefined;
      const save = () => {
        clearTimeout(timer);
        timer = undefined;
        cursors.write(instanceId, now);
      };
      save();
      const all = services.map((service) =>
        followLog(parts, {
          ...{ instanceId, service, memoryMb },
          log: services.length === 1 ? log : (stream, line) => log(stream, `${service} | ${line}`),
          cursor: now[service] ?? null,
          onCursor(cursor) {
            now[service] = cursor;
            timer ??= setTimeout(save, writeEveryMs);
          },
        }),
      );
      followed.set(instanceId, { all, save, lock });
    },
    async finish(instanceId) {
      const found = followed.get(instanceId);
      followed.delete(instanceId);
      await Promise.all((found?.all ?? []).map((one) => one.finish()));
      found?.save();
      found?.lock.release();
    },
    forget: (instanceId) => cursors.remove(instanceId),
    async close() {
      for (const { all, save, lock } of followed.values()) {
        await Promise.all(all.map((one) => one.stop()));
        save();
        lock.release();
      }
      followed.clear();
    },
  };
}
