import { afterAll, beforeAll } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Of the fixtures that exist, in the order of their creation: `afterAll` hooks run in that order, too. */
const ends: (() => unknown)[] = [];

/**
 * What `create` returns, for the tests of a file or a `describe`: created before them. After them the fixtures are ended,
 * the last one first.
 */
export function useFixture<T extends object>(
  create: () => T | Promise<T>,
  end: (fixture: T) => unknown = () => {},
): T {
  const fixture = {} as T;
  beforeAll(async () => {
    const at = ends.push(() => {}) - 1;
    Object.assign(fixture, await create());
    ends[at] = () => end(fixture);
  });
  afterAll(() => ends.pop()?.());
  return fixture;
}

/** A folder for the tests of a file or a `describe`, removed after them. */
export function useFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-test-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
