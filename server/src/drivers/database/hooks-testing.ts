import { afterEach, beforeAll } from 'bun:test';
import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { useFixture } from '../../../../scripts/use-fixture.ts';
import type { Database } from './connect.ts';
import { attachDatabase, openDatabase } from './database.ts';
import { findRunningPostmaster } from './postmaster.ts';
import {
  copyStoppedDataDir,
  type FreshDatabase,
  freshDatabase,
  runServer,
  temporaryFolder,
} from './testing.ts';

export const useTemporaryFolder = (): { path: string } => useFixture(temporaryFolder, (it) => it.remove());

export const useFreshDatabase = (): FreshDatabase => useFixture(freshDatabase, (it) => it.drop());

export function useDataDir() {
  const folder = useTemporaryFolder();
  const dataDir = { folder, path: '' };
  const opened: Database[] = [];
  const children: ChildProcess[] = [];
  const remember = async (opening: Promise<Database>) => {
    const database = await opening;
    opened.push(database);
    return database;
  };
  beforeAll(async () => {
    dataDir.path = await copyStoppedDataDir(join(folder.path, 'data'));
  });
  afterEach(async () => {
    for (const child of children.splice(0)) child.kill('SIGKILL');
    await Promise.all(opened.splice(0).map((database) => database.stop()));
  });
  return Object.assign(dataDir, {
    open: (path = dataDir.path, log: (line: string) => void = () => {}) =>
      remember(openDatabase({ dataDir: path, log })),
    attach: (path = dataDir.path) => remember(attachDatabase({ dataDir: path, log: () => {} })),
    serve: (as?: { detached?: boolean }, path = dataDir.path) => {
      const server = runServer(path, as);
      children.push(server.child);
      return server;
    },
    adopt: (child: ChildProcess) => void children.push(child),
    postmaster: (path = dataDir.path) => findRunningPostmaster(join(path, 'postgres')),
  });
}

export async function waitUntil(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await Bun.sleep(5);
}
