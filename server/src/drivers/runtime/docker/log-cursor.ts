import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Lock, takeLock } from '../../database/lock-file.ts';
import { checkedId } from '../process/layout.ts';

/** How far the log of a service of an instance was read: the time of its last piece, and how many have that very time. */
export interface LogCursor {
  container: string;
  at: string;
  seen: number;
}

/** Kept where the server that began to read will look again; a copy elsewhere leaves the log to it. */
export interface LogCursors {
  has(instanceId: string): boolean;
  read(instanceId: string): Record<string, LogCursor>;
  write(instanceId: string, cursors: Readonly<Record<string, LogCursor>>): void;
  remove(instanceId: string): void;
  /** Null: another living process has it. */
  lock(instanceId: string): Lock | null;
}

export function createLogCursors(folder: string): LogCursors {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const pathOf = (instanceId: string) => join(folder, `${checkedId(instanceId)}.json`);
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
      const lock = takeLock(`${pathOf(instanceId)}.lock`);
      return 'release' in lock ? lock : null;
    },
    remove: (instanceId) => rmSync(pathOf(instanceId), { force: true }),
  };
}

/** `2026-01-02T03:04:05.000000006Z` as the engine wants it: seconds and nanoseconds. */
export function sinceOf(at: string): string {
  const [whole = '', part = '0'] = at.replace(/Z$/, '').split('.');
  return `${Date.parse(`${whole}Z`) / 1_000}.${part.padEnd(9, '0')}`;
}
