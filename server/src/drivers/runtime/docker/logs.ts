import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Lock, tryLock } from '../../os/files.ts';
import { checkId } from '../process/folders.ts';
import type { LogSink } from '../runtime.ts';
import type { DockerDeps } from './docker-deps.ts';
import { followLog, followServiceLog, type LogCursor, type LogFollower } from './follow-log.ts';

interface Logs {
  follow(options: {
    instanceId: string;
    services: readonly string[];
    /** Containers of a service may be on other nodes of a Swarm. */
    isService: boolean;
    memoryMb: number | null;
    log: LogSink;
  }): void;
  isFollowed(instanceId: string): boolean;
  isOurs(instanceId: string): boolean;
  finish(instanceId: string): Promise<void>;
  forget(instanceId: string): void;
  close(): Promise<void>;
}

const writeEveryMs = 250;

export function createLogs(deps: DockerDeps): Logs {
  const cursors = createLogCursors(deps.logsDir);
  const followed = new Map<string, { all: LogFollower[]; save: () => void; lock: Lock }>();
  return {
    isFollowed: (instanceId) => followed.has(instanceId),
    isOurs: (instanceId) => cursors.has(instanceId),
    follow({ instanceId, services, isService, memoryMb, log }) {
      if (followed.has(instanceId)) return;
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
        (isService ? followServiceLog : followLog)(deps, {
          instanceId,
          service,
          memoryMb,
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

interface LogCursors {
  has(instanceId: string): boolean;
  read(instanceId: string): Record<string, LogCursor>;
  write(instanceId: string, cursors: Readonly<Record<string, LogCursor>>): void;
  remove(instanceId: string): void;
  lock(instanceId: string): Lock | null;
}

function createLogCursors(folder: string): LogCursors {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const pathOf = (instanceId: string) => join(folder, `${checkId(instanceId)}.json`);
  const read = (instanceId: string): Record<string, LogCursor> | null => {
    try {
      return JSON.parse(readFileSync(pathOf(instanceId), 'utf8')) as Record<string, LogCursor>;
    } catch {
      return null;
    }
  };
  return {
    has: (instanceId) => read(instanceId) !== null,
    read: (instanceId) => read(instanceId) ?? {},
    write(instanceId, cursors) {
      const path = pathOf(instanceId);
      writeFileSync(`${path}.new`, JSON.stringify(cursors), { mode: 0o600 });
      renameSync(`${path}.new`, path);
    },
    lock(instanceId) {
      const lock = tryLock(`${pathOf(instanceId)}.lock`);
      return 'release' in lock ? lock : null;
    },
    remove: (instanceId) => rmSync(pathOf(instanceId), { force: true }),
  };
}
